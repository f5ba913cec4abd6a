// One call of a tool: what it was given and what it says, while it runs too.

import type { Conversation } from "../state/conversation";
import { outputOf } from "../state/items";
import type { Block } from "../wire/shapes";
import { Icon } from "./icons";

const LINE = 90;

export function ToolCard({ call, talk }: { call: Block; talk: Conversation }) {
  const id = call.id ?? "";
  const live = talk.tools.value.get(id);
  const stored = talk.results.value.get(id);
  const state = stored ? (stored.isError ? "failed" : "done") : (live?.state ?? "running");
  const output = stored ? outputOf(stored.content) : (live?.output ?? "");
  return (
    <details class={`tool ${state}`} open={state === "running" && output !== ""}>
      <summary>
        <Icon name="tool" />
        <strong>{call.name}</strong>
        <code class="args">{lineOf(call.arguments)}</code>
        <span class={`badge ${state}`}>{state}</span>
      </summary>
      <p class="label">Given</p>
      <pre tabIndex={0}>{pretty(call.arguments)}</pre>
      {output && (
        <>
          <p class="label">{state === "running" ? "So far" : "Result"}</p>
          <pre tabIndex={0}>{output}</pre>
        </>
      )}
    </details>
  );
}

function lineOf(value: unknown): string {
  const text = typeof value === "object" && value !== null ? Object.values(value).map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ") : "";
  return text.length > LINE ? `${text.slice(0, LINE)}…` : text;
}

const pretty = (value: unknown): string => JSON.stringify(value ?? {}, null, 2);
