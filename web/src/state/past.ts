// What was said in a session, page by page from its end, through every reset and compaction.

import { Refused } from "../wire/frames";
import type { History, MessageRow } from "../wire/shapes";
import { call } from "./gateway";

export interface Page {
  rows: MessageRow[];
  /** Where the next older page ends; none where there is no more. */
  older: string | null;
}

interface Timeline {
  messages: MessageRow[];
  before: string | null;
}

export async function pageOf(key: string, limit: number, before: string | null = null): Promise<Page> {
  try {
    const found = await call<Timeline>("sessions.timeline", { key, limit, ...(before ? { before } : {}) });
    return { rows: found.messages, older: found.before };
  } catch (error) {
    // One that was not spoken in yet.
    if (error instanceof Refused && error.message.startsWith("No session found")) return { rows: [], older: null };
    throw error;
  }
}

/** A page and how it stands after it: the mark of a conversation in which nothing was said yet comes with that. */
export function newest(page: Page, found: History): MessageRow[] {
  const told = new Set(page.rows.map((row) => row.__openclaw.id));
  return [...page.rows, ...found.messages.filter((row) => !told.has(row.__openclaw.id))];
}

export const standing = (key: string): Promise<History> => call<History>("chat.history", { sessionKey: key, limit: 1 });
