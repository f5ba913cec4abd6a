// Small things that this browser remembers: drafts, what was read, how the page looks.

import { effect, signal, type Signal } from "@preact/signals";

export function kept<T>(name: string, initial: T): Signal<T> {
  const stored = localStorage.getItem(`roost.${name}`);
  let value = initial;
  try {
    value = stored === null ? initial : (JSON.parse(stored) as T);
  } catch {
    localStorage.removeItem(`roost.${name}`);
  }
  const found = signal(value);
  effect(() => localStorage.setItem(`roost.${name}`, JSON.stringify(found.value)));
  return found;
}

export type Theme = "system" | "light" | "dark";
export const theme = kept<Theme>("theme", "system");

/** One entry a session: pages that are open side by side do not write over each other's. */
function put(name: string, text: string): void {
  if (text) localStorage.setItem(name, text);
  else localStorage.removeItem(name);
}

export const draftOf = (key: string): string => localStorage.getItem(`roost.draft.${key}`) ?? "";
export const keepDraft = (key: string, text: string): void => put(`roost.draft.${key}`, text);

/** What was said and not heard yet: it outlives the page. */
export interface Unsent {
  id: string;
  text: string;
  /** Why it was refused or given up. */
  error?: string;
  /** How far it is, if the gateway has taken it; what it has not, and did not refuse, is sent again. */
  state?: "joined" | "lost";
}
export const unsentOf = (key: string): Unsent[] => JSON.parse(localStorage.getItem(`roost.unsent.${key}`) ?? "[]") as Unsent[];
export const keepUnsent = (key: string, left: Unsent[]): void => put(`roost.unsent.${key}`, left.length > 0 ? JSON.stringify(left) : "");

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
