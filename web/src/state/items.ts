// A conversation as it is shown: rows become messages, marks between them, and cards of tools. Values in, values out.

import type { Block, History, MessageRow } from "../wire/shapes";
import { wordsOf } from "../wire/shapes";

export interface Tool {
  id: string;
  name: string;
  args: unknown;
  output: string;
  state: "running" | "done" | "failed";
}

export interface Said {
  kind: "said";
  id: string;
  who: "user" | "agent" | "other";
  from?: string;
  text: string;
  thinking: string;
  tools: Block[];
  at?: number;
  model?: string;
  cost?: number;
  tokens?: number;
  error?: string;
}

export interface Mark {
  kind: "mark";
  id: string;
  text: string;
  why: string;
  at?: number;
}

/** What was said to the gateway itself, and its answer: no part of the transcript. */
export interface Note {
  kind: "note";
  id: string;
  question: string;
  answer: string | null;
  /** Why a run did not end well, if it is of that. */
  why?: string;
  after: string | null;
}

export interface Pending {
  kind: "pending";
  id: string;
  text: string;
  /** Where it comes from, if no person said it. */
  from?: string;
  /** What its row will be called, where that is known. */
  row?: string;
  /** `joined` another run; `lost` is what was taken, and given up before an agent heard it. */
  state: "sending" | "sent" | "joined" | "failed" | "lost";
  error?: string;
}

export interface Speaking {
  kind: "speaking";
  id: string;
  text: string;
  thinking: string;
  tools: string[];
}

export type Item = Said | Mark | Note | Pending | Speaking;

const OPENED: Record<string, string> = {
  compaction: "Earlier messages were condensed",
  reset: "New conversation",
  branch: "Goes on from an earlier conversation",
};
const SOURCES: Record<string, string> = {
  inter_session: "another session",
  internal_system: "the gateway",
};

export function itemsOf(rows: readonly MessageRow[], notes: readonly Note[]): Item[] {
  const items: Item[] = [];
  // A line that was put into the transcript is told twice: as it comes, and as the row it is.
  const told = new Set(rows.map((row) => `inject-${row.__openclaw.id}`));
  const following = Map.groupBy(notes.filter((note) => !told.has(note.id)), (note) => note.after);
  let model: string | undefined;
  items.push(...(following.get(null) ?? []));
  for (const row of rows) {
    const meta = row.__openclaw;
    if (meta.kind) items.push(markOf(row));
    else if (row.role === "user" || row.role === "assistant") {
      const said = saidOf(row, following.get(meta.id) ?? []);
      if (said.model && model && said.model !== model) {
        const why = meta.modelReason ? `model: ${meta.modelReason}` : `before: ${model}`;
        items.push({ kind: "mark", id: `${said.id}:model`, text: `${said.model} goes on`, why });
      }
      model = said.model ?? model;
      if (said.text || said.thinking || said.tools.length > 0 || said.error) items.push(said);
    }
    items.push(...(following.get(meta.id) ?? []));
  }
  return items;
}

function markOf(row: MessageRow): Mark {
  const { id, kind, reason, rule, tokensBefore } = row.__openclaw;
  const text = OPENED[kind ?? ""] ?? wordsOf(row);
  return { kind: "mark", id, text, why: tokensBefore ? `compaction: it had grown to ${tokensBefore.toLocaleString()} tokens` : whyOf(reason ?? kind ?? "", rule ?? ""), ...(row.timestamp ? { at: row.timestamp } : {}) };
}

/** A rule that resets by itself is "where it was set: daily at 04:00, idle 60 min"; the reason is the part that came true. */
function whyOf(reason: string, rule: string): string {
  const [setting, parts] = rule.split(": ");
  const part = parts?.split(", ").find((one) => one.startsWith(reason));
  if (part) return `reset: ${part}${setting === "default" ? "" : ` (${setting})`}`;
  return rule ? `${reason}: ${rule}` : reason;
}

/** Where a message comes from that no person said. */
function sourceOf(row: MessageRow): string | undefined {
  const source = SOURCES[row.provenance?.kind ?? ""];
  return source && (row.provenance?.sourceSessionKey ?? source);
}

function saidOf(row: MessageRow, notes: readonly Note[]): Said {
  const blocks = typeof row.content === "string" ? [] : row.content;
  const from = sourceOf(row);
  const injected = row.model === "gateway-injected";
  const model = row.model && !injected ? `${row.provider ?? ""}/${row.model}`.replace(/^\//, "") : undefined;
  const cost = row.usage?.cost?.total;
  return {
    kind: "said",
    id: row.__openclaw.id,
    who: row.role === "assistant" ? "agent" : from ? "other" : "user",
    ...(from ? { from } : {}),
    text: wordsOf(row),
    thinking: blocks.filter((block) => block.type === "thinking").map((block) => block.thinking ?? "").join("\n\n"),
    tools: blocks.filter((block) => block.type === "toolCall"),
    ...(row.timestamp ? { at: row.timestamp } : {}),
    ...(model ? { model } : {}),
    ...(cost ? { cost } : {}),
    ...(row.usage ? { tokens: row.usage.totalTokens } : {}),
    // A note behind it may say so already.
    ...(row.errorMessage && !notes.some((note) => note.why === row.errorMessage) ? { error: row.errorMessage } : {}),
  };
}

/** Newer rows put over older ones, each once, in the order they came. */
export function merged(rows: readonly MessageRow[], more: readonly MessageRow[]): MessageRow[] {
  const known = new Map(rows.map((row) => [row.__openclaw.id, row]));
  for (const row of more) known.set(row.__openclaw.id, row);
  return [...known.values()];
}

export function outputOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block: Block) => (block.type === "text" ? (block.text ?? "") : `[${block.type}]`))
    .join("\n");
}

export const NOTHING_SAID: Speaking = { kind: "speaking", id: "", text: "", thinking: "", tools: [] };

export const keptOf = (found: History): Pending[] =>
  (found.pendingInputs?.items ?? []).map(({ id, runId, message }) => {
    const from = sourceOf(message);
    return { kind: "pending", id: runId ?? id, row: id, text: wordsOf(message), state: "sent", ...(from ? { from } : {}) };
  });

export function toolOf(id: string, data: Record<string, unknown>, known?: Tool): Tool {
  const before: Tool = known ?? { id, name: "", args: undefined, output: "", state: "running" };
  const partial = data["partialResult"] as { content?: unknown } | undefined;
  const result = data["result"] as { content?: unknown } | undefined;
  // One that begins is told from its beginning, also when that is told again; so is what turned out to hold a secret.
  const output = data["phase"] === "start" || data["replace"] ? "" : before.output;
  return {
    ...before,
    name: String(data["name"] ?? before.name),
    args: data["args"] ?? before.args,
    output: result ? outputOf(result.content) : output + outputOf(partial?.content),
    state: result ? (data["isError"] ? "failed" : "done") : "running",
  };
}

/** Those of which no row tells yet. What joined a run has that run's name in its row: it is known by its words, each by a
    row of its own, unless it is `waiting` still, and the same was said before. */
export function untold<One extends Pending>(waits: readonly One[], rows: readonly MessageRow[], waiting: ReadonlySet<string>): One[] {
  const users = rows.filter((row) => row.role === "user");
  const names = new Set(users.map((row) => row.idempotencyKey));
  const ids = new Set(users.map((row) => row.__openclaw.id));
  const texts = users.map(wordsOf);
  const isSaid = (one: Pending): boolean => {
    const place = one.state === "joined" && !waiting.has(one.id) ? texts.lastIndexOf(one.text) : -1;
    return place >= 0 && texts.splice(place, 1).length > 0;
  };
  return waits.filter((one) => !names.has(`${one.id}:user`) && !ids.has(one.row ?? "") && !isSaid(one));
}

/** Most reasons begin with the word. */
export const stopped = (why: string): string => (why.startsWith("stopped") ? `S${why.slice(1)}` : `Stopped: ${why}`);
