// One thing in a conversation.

import type { Conversation } from "../state/conversation";
import { fork } from "../state/forking";
import { has, may } from "../state/gateway";
import type { Item, Mark, Note, Pending, Said, Speaking } from "../state/items";
import { tell } from "./dialogs";
import { Icon, type IconName } from "./icons";
import { Markdown } from "./Markdown";
import { ToolCard } from "./ToolCard";
import { costOf, countOf, momentOf, timeOf, whenOf } from "./words";

interface Props<T extends Item> {
  item: T;
  talk: Conversation;
}

export function ItemView({ item, talk, found }: Props<Item> & { found: boolean }) {
  switch (item.kind) {
    case "said":
      return (
        <div class={found ? "found" : ""}>
          <SaidView item={item} talk={talk} />
        </div>
      );
    case "mark":
      return <MarkView item={item} />;
    case "note":
      return <NoteView item={item} />;
    case "pending":
      return <PendingView item={item} talk={talk} />;
    case "speaking":
      return <SpeakingView item={item} talk={talk} />;
  }
}

function SaidView({ item, talk }: Props<Said>) {
  const who = item.who === "agent" ? "Agent" : item.who === "user" ? "You" : (item.from ?? "Other");
  return (
    <article class={`said ${item.who}`} aria-label={who}>
      {item.who === "other" && <p class="from">From {item.from}</p>}
      {item.thinking && <Thinking text={item.thinking} />}
      {item.text && (item.who === "user" ? <p class="plain" dir="auto">{item.text}</p> : <Markdown text={item.text} />)}
      {item.tools.map((block) => (
        <ToolCard key={block.id} call={block} talk={talk} />
      ))}
      {item.error && <p class="problem">{item.error}</p>}
      <Foot item={item} talk={talk} />
    </article>
  );
}

function Foot({ item, talk }: Props<Said>) {
  const spent = [item.model, item.tokens ? `${countOf(item.tokens)} tokens` : "", item.cost ? costOf(item.cost) : ""].filter(Boolean);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(item.text);
    tell("Copied");
  };
  return (
    <footer class="foot">
      {item.at && <time title={momentOf(item.at)}>{timeOf(item.at)}</time>}
      {item.who === "agent" && spent.length > 0 && <span class="spent">{spent.join(" · ")}</span>}
      <span class="actions">
        {item.text && <Act name="Copy" icon="copy" act={() => void copy()} />}
        {item.who === "user" && may("write") && <Act name="Ask again" icon="redo" act={() => void talk.own.say(item.text)} />}
        {has("roost.fork") && may("write") && <Act name="Fork from here" icon="branch" act={() => void fork(talk.key, item.id)} />}
      </span>
    </footer>
  );
}

function Act({ name, icon, act }: { name: string; icon: IconName; act(): void }) {
  return (
    <button type="button" class="quiet-button small" title={name} aria-label={name} onClick={act}>
      <Icon name={icon} />
    </button>
  );
}

function Thinking({ text }: { text: string }) {
  return (
    <details class="thinking">
      <summary>Reasoning</summary>
      <Markdown text={text} />
    </details>
  );
}

function MarkView({ item }: { item: Mark }) {
  return (
    <div class="mark" role="separator" aria-label={`${item.text}; ${item.why}`}>
      <span>
        <strong>{item.text}</strong> <span class="why">{item.why}</span>
        {item.at && <time title={momentOf(item.at)}>{whenOf(item.at)}</time>}
      </span>
    </div>
  );
}

function NoteView({ item }: { item: Note }) {
  return (
    <article class="note" aria-label="Answer of the gateway">
      {item.question && <p class="asked">{item.question}</p>}
      {item.answer && <Markdown text={item.answer} />}
    </article>
  );
}

const WORDS: Record<Pending["state"], string> = {
  sending: "sending…",
  sent: "",
  joined: "steering: the agent hears it next",
  failed: "not sent",
  lost: "not answered",
};

function PendingView({ item, talk }: Props<Pending>) {
  const waits = item.state === "sent" && talk.speaking.value?.id !== item.id;
  const waiting = item.from ? "waits for the next turn" : talk.busy.value ? "queued: waits for its turn" : "";
  return (
    <article class={`said ${item.from ? "other" : "user"} pending ${item.state}`} aria-label={item.from ?? "You"}>
      {item.from && <p class="from">From {item.from}</p>}
      {item.from ? <Markdown text={item.text} /> : <p class="plain" dir="auto">{item.text}</p>}
      <footer class="foot">
        <span role="status">{waits ? waiting : WORDS[item.state]}</span>
        {item.error && <span class="problem">{item.error}</span>}
        {(item.state === "failed" || item.state === "lost") && (
          <>
            <Act name="Send again" icon="redo" act={() => void talk.own.again(item.id)} />
            <Act name="Remove" icon="close" act={() => talk.own.drop(item.id)} />
          </>
        )}
      </footer>
    </article>
  );
}

function SpeakingView({ item }: Props<Speaking>) {
  return (
    <article class="said agent speaking" aria-label="Agent" aria-busy="true">
      {item.thinking && !item.text && <Thinking text={item.thinking} />}
      {item.text ? <Markdown text={item.text} /> : <p class="dots" role="status" aria-label="The agent is working"><i /><i /><i /></p>}
    </article>
  );
}
