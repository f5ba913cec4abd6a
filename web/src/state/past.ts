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

/** The mark of a conversation in which nothing was said yet comes with how it stands. What is said there was said after the
    page was read, if it is not in it: that is told by itself, and in its place. */
export const marksOf = (found: History): MessageRow[] => found.messages.filter((row) => row.__openclaw.kind);

export const standing = (key: string): Promise<History> => call<History>("chat.history", { sessionKey: key, limit: 1 });
