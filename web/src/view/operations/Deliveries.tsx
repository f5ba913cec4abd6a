import { useState } from "preact/hooks";
import { call } from "../../state/gateway";
import { hrefOf } from "../../state/route";
import { nameOf } from "../../state/sessions";
import { ask, attempt } from "../dialogs";
import { agoOf } from "../words";
import { Empty, Figure, Shown, useAsked } from "./asked";

interface Delivery {
  id: string;
  sessionKey: string;
  channel: string;
  to: string;
  kind: string;
  state: string;
  text: string;
  createdAt: number;
  attempts: number;
  error?: string;
}

interface Listed {
  counts: Record<string, number>;
  deliveries: Delivery[];
}

const STATES = ["failed", "uncertain", "sending", "intent", "confirmed", "dismissed"];
const NAMES: Record<string, string> = { failed: "dead letters", uncertain: "uncertain", sending: "being sent", intent: "waiting", confirmed: "arrived", dismissed: "dismissed" };
const DECIDED = ["failed", "uncertain"];

/** Messages on their way out, by what became of them. Dead letters and uncertain ones wait for a word. */
export function Deliveries() {
  const [state, setState] = useState("failed");
  const asked = useAsked<Listed>("deliveries.list", { state });
  const decide = async (one: Delivery, what: "retry" | "dismiss"): Promise<void> => {
    const unsure = one.state === "uncertain" && what === "retry";
    if (unsure && (await ask({ title: "Send it again?", text: "It may have arrived already: then it arrives twice.", action: "Send again", danger: true })) === null) return;
    await attempt(() => call(`deliveries.${what}`, { id: one.id }), what === "retry" ? "It is sent again" : "Dismissed");
    asked.again();
  };
  return (
    <Shown asked={asked}>
      {(found) => (
        <>
          <div class="figures-row">
            {["failed", "uncertain", "sending", "intent"].map((name) => (
              <Figure key={name} name={NAMES[name] ?? name} value={found.counts[name] ?? 0} tone={DECIDED.includes(name) && (found.counts[name] ?? 0) > 0 ? "warn" : ""} />
            ))}
          </div>
          <label class="row inline">
            Show
            <select value={state} onChange={(event) => setState(event.currentTarget.value)}>
              {STATES.map((name) => (
                <option key={name} value={name}>
                  {NAMES[name]}
                </option>
              ))}
            </select>
          </label>
          {found.deliveries.length === 0 && <Empty>There are none. Messages that a channel refused for good end up as dead letters; nothing is dropped in silence.</Empty>}
          <ul class="cards">
            {found.deliveries.map((one) => (
              <li class="card" key={one.id}>
                <div class="row">
                  <strong>
                    {one.channel} → {one.to}
                  </strong>
                  <span class={`badge ${one.state}`}>{one.state}</span>
                  <span class="grow" />
                  <time class="quiet">{agoOf(one.createdAt)}</time>
                </div>
                <p class="clip">{one.text}</p>
                <p class="quiet">
                  {one.kind} of <a href={hrefOf({ at: "chat", key: one.sessionKey })}>{nameOf(one.sessionKey)}</a>, {one.attempts === 1 ? "1 attempt" : `${one.attempts} attempts`}
                  {one.error && `: ${one.error}`}
                </p>
                {DECIDED.includes(one.state) && (
                  <div class="row">
                    <button type="button" onClick={() => void decide(one, "retry")}>
                      Retry
                    </button>
                    <button type="button" onClick={() => void decide(one, "dismiss")}>
                      Dismiss
                    </button>
                  </div>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
    </Shown>
  );
}
