// The whole page: who is let in sees the sidebar and one place.

import { useEffect } from "preact/hooks";
import { hello, mainKey, pairing, phase, retry } from "../state/gateway";
import { theme } from "../state/kept";
import { hrefOf, place, sidebarOpen } from "../state/route";
import { ChatPage } from "./ChatPage";
import { Dialogs } from "./dialogs";
import { Operations } from "./Operations";
import { Sidebar } from "./Sidebar";
import { SignIn } from "./SignIn";
import { TreePage } from "./TreePage";

export function App() {
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme.value;
  }, [theme.value]);
  if (phase.value === "refused" || (pairing.value && phase.value !== "open")) return <SignIn />;
  if (!hello.value) return <Waiting />;
  return (
    <div class={sidebarOpen.value ? "app sidebar-open" : "app"}>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the conversation
      </a>
      <Sidebar />
      {sidebarOpen.value && <button type="button" class="veil" aria-label="Close the list of sessions" onClick={() => (sidebarOpen.value = false)} />}
      <main id="main" tabIndex={-1}>
        {phase.value !== "open" && <Away />}
        <Place />
      </main>
      <Dialogs />
    </div>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Place() {
  const at = place.value;
  switch (at.at) {
    case "tree":
      return <TreePage key={at.key} root={at.key || mainKey.value} />;
    case "operations":
      return <Operations part={at.part} />;
    case "chat": {
      const key = at.key || mainKey.value;
      return <ChatPage key={key} session={key} target={at.message} />;
    }
  }
}

/** What was typed stays; what was said meanwhile is read as soon as the gateway is back. */
function Away() {
  return (
    <div class="banner" role="status">
      <span class="pulse" />
      The gateway is away. Nothing is lost; the page comes back by itself.
      <button type="button" class="link" onClick={retry}>
        Try now
      </button>
    </div>
  );
}

function Waiting() {
  return (
    <main class="centred">
      <p class="quiet" role="status">
        {phase.value === "lost" ? "The gateway does not answer. Trying again…" : "Connecting…"}
      </p>
    </main>
  );
}

export const chatHref = (key: string): string => hrefOf({ at: "chat", key });
