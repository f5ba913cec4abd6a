// Every session there is, kept up to date by what the gateway says.

import { computed, signal } from "@preact/signals";
import { Refused } from "../wire/frames";
import type { AgentRow, CommandRow, Defaults, Hit, ModelRow, SessionRow } from "../wire/shapes";
import { titleOf } from "../wire/shapes";
import { call, on, whenever } from "./gateway";

const MOST = 500;

export const sessions = signal<ReadonlyMap<string, SessionRow>>(new Map());
export const loaded = signal(false);
export const defaults = signal<Defaults | null>(null);
export const agents = signal<AgentRow[]>([]);
export const models = signal<ModelRow[]>([]);
export const commands = signal<CommandRow[]>([]);

export interface Group {
  agent: string;
  channel: string;
  rows: SessionRow[];
}

interface Listed {
  sessions: SessionRow[];
  defaults: Defaults;
}

const LIST = { limit: MOST, includeDerivedTitles: true, includeLastMessage: true, archived: "all" };

const AGAIN_MS = 1_000;
/** What is heard while a list is read, by each reading: newer than what it finds. None is a session that is gone. */
const readings = new Set<Map<string, SessionRow | null>>();
let again = 0;

whenever(read);
on<{ sessionKey: string; reason?: string; session?: SessionRow }>("sessions.changed", ({ sessionKey, reason, session }) => {
  const row = session ?? (reason === "delete" ? null : undefined);
  if (row === undefined) return;
  for (const heard of readings) heard.set(sessionKey, row);
  sessions.value = changed(sessions.peek(), [[sessionKey, row]]);
});

function changed(rows: Iterable<readonly [string, SessionRow]>, changes: Iterable<readonly [string, SessionRow | null]>): Map<string, SessionRow> {
  const found = new Map(rows);
  for (const [key, row] of changes) {
    if (row) found.set(key, row);
    else found.delete(key);
  }
  return found;
}

function read(): void {
  window.clearTimeout(again);
  load().catch((error: unknown) => {
    if (error instanceof Refused && !error.lost) again = window.setTimeout(read, AGAIN_MS);
  });
}

async function load(): Promise<void> {
  const heard = new Map<string, SessionRow | null>();
  readings.add(heard);
  try {
    const [told, known, catalogue] = await Promise.all([
      call<{ list: Listed }>("sessions.subscribe", LIST),
      call<{ agents: AgentRow[] }>("agents.list"),
      call<{ models: ModelRow[]; commands: CommandRow[] }>("chat.metadata"),
    ]);
    sessions.value = changed(told.list.sessions.map((row) => [row.key, row] as const), heard);
    defaults.value = told.list.defaults;
    agents.value = known.agents;
    models.value = catalogue.models;
    commands.value = catalogue.commands;
    loaded.value = true;
  } finally {
    readings.delete(heard);
  }
}

/** Whether nothing but the demo model answers. */
export const onlyDemo = computed(() => models.value.length > 0 && models.value.every((model) => model.provider === "demo"));

export const running = computed(() => [...sessions.value.values()].filter((row) => row.hasActiveRun));

export function matching(row: SessionRow, words: string): boolean {
  const within = `${titleOf(row)} ${row.key} ${row.lastMessagePreview ?? ""}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => within.includes(word));
}

/** Pinned first, then by agent and channel; within each the newest first. Children stand under their parents' trees. */
export function grouped(rows: Iterable<SessionRow>): { pinned: SessionRow[]; groups: Group[] } {
  const sorted = [...rows].sort((one, other) => other.updatedAt - one.updatedAt);
  const groups = new Map<string, Group>();
  for (const row of sorted.filter((row) => !row.pinned)) {
    const agent = row.agentId ?? "shared";
    const channel = row.parentSessionKey ? "sub-agents" : channelOf(row);
    const name = `${agent}\n${channel}`;
    const group = groups.get(name) ?? { agent, channel, rows: [] };
    group.rows.push(row);
    groups.set(name, group);
  }
  return { pinned: sorted.filter((row) => row.pinned), groups: [...groups.values()] };
}

export const channelOf = (row: SessionRow): string =>
  !row.channel || row.channel === "unknown" || row.channel === "internal" ? "direct" : row.channel;

export const nameOf = (key: string): string => {
  const row = sessions.value.get(key);
  return row ? titleOf(row) : key;
};

export async function searchNames(words: string): Promise<void> {
  const found = await call<Listed>("sessions.list", { ...LIST, limit: 50, search: words });
  sessions.value = new Map([...sessions.peek(), ...found.sessions.map((row) => [row.key, row] as const)]);
}

export async function searchWords(words: string): Promise<Hit[]> {
  return (await call<{ results: Hit[] }>("roost.search", { query: words, limit: 30 })).results;
}

export type Patch = Partial<{ label: string | null; pinned: boolean; archived: boolean; model: string | null; thinkingLevel: string | null }>;

export const patch = (key: string, changes: Patch): Promise<unknown> => call("sessions.patch", { key, ...changes });
export const reset = (key: string): Promise<unknown> => call("sessions.reset", { key });
export const remove = (key: string): Promise<unknown> => call("sessions.delete", { key });
export const stop = (key: string): Promise<unknown> => call("chat.abort", { sessionKey: key });

export async function create(agentId: string): Promise<string> {
  return (await call<{ key: string }>("sessions.create", { agentId })).key;
}
