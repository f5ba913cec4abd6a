// Small things that this browser remembers: drafts, what was read, how the page looks.

import { effect, signal, type Signal } from "@preact/signals";
import * as storage from "../wire/storage";

export function kept<T>(name: string, initial: T): Signal<T> {
  const found = signal(read<T>(`roost.${name}`) ?? initial);
  effect(() => storage.remember(`roost.${name}`, JSON.stringify(found.value)));
  return found;
}

function read<T>(name: string): T | null {
  try {
    return JSON.parse(storage.recall(name) ?? "null") as T | null;
  } catch {
    return null;
  }
}

export type Theme = "system" | "light" | "dark";
export const theme = kept<Theme>("theme", "system");

const DRAFT = "roost.draft.";
const UNSENT = "roost.unsent.";

/** What was typed here is not for whoever comes next. */
export function forgetWords(): void {
  for (const name of [...storage.remembered(DRAFT), ...storage.remembered(UNSENT)]) storage.forget(name);
}

export const draftOf = (key: string): string => storage.recall(DRAFT + key) ?? "";
export function keepDraft(key: string, text: string): void {
  if (text) storage.remember(DRAFT + key, text);
  else storage.forget(DRAFT + key);
}

/** What was said and not heard yet: it outlives the page. */
export interface Unsent {
  id: string;
  key: string;
  text: string;
  at: number;
  /** Why it was refused or given up. */
  error?: string;
  /** How far it is, if the gateway has taken it; what it has not, and did not refuse, is sent again. */
  state?: "joined" | "lost";
}

/** An entry each: pages that are open side by side do not write over each other's. */
export const keepUnsent = (one: Unsent): void => storage.remember(UNSENT + one.id, JSON.stringify(one));
export const forgetUnsent = (id: string): void => storage.forget(UNSENT + id);

/** In the order in which it was said. */
export const unsent = (): Unsent[] =>
  storage
    .remembered(UNSENT)
    .map((name) => read<Unsent>(name))
    .filter((one): one is Unsent => one?.key !== undefined)
    .sort((one, other) => one.at - other.at);

/** Be called when another page of this browser has forgotten one. */
export function whenForgotten(hear: (id: string) => void): void {
  window.addEventListener("storage", ({ key, newValue }) => {
    if (key?.startsWith(UNSENT) && newValue === null) hear(key.slice(UNSENT.length));
  });
}

const seen = kept<Record<string, number>>("seen", {});
const since = kept("since", Date.now());
export const isUnread = (row: { key: string; updatedAt: number }): boolean =>
  row.updatedAt > (seen.value[row.key] ?? since.value);
export function markSeen(row: { key: string; updatedAt: number }): void {
  if ((seen.peek()[row.key] ?? 0) < row.updatedAt) seen.value = { ...seen.peek(), [row.key]: row.updatedAt };
}
export function markUnread(key: string): void {
  seen.value = { ...seen.peek(), [key]: 0 };
}
