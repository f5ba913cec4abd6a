// Why the last run of a session did not end well, as the gateway says it.

import { useEffect, useState } from "preact/hooks";
import { call, has } from "../state/gateway";
import type { Item } from "../state/items";
import type { SessionRow } from "../wire/shapes";

interface Explained {
  reasons: { about: string; text: string }[];
}

export const endedBadly = (row: SessionRow): boolean => ["failed", "timeout", "killed"].includes(row.status ?? "");

/** Asked once for each time that it ended so. */
export function useWhy(row: SessionRow | null): string | null {
  const asked = row && endedBadly(row) && has("sessions.explain") ? `${row.key} ${row.updatedAt}` : null;
  const [found, setFound] = useState<{ of: string; text: string } | null>(null);
  useEffect(() => {
    if (!row || !asked) return;
    call<Explained>("sessions.explain", { key: row.key, about: "silence" }).then(
      ({ reasons }) => setFound({ of: asked, text: wordsOf(reasons[0]?.text ?? "") }),
      () => undefined,
    );
  }, [asked]);
  return asked && found?.of === asked ? found.text : null;
}

function wordsOf(text: string): string {
  const words = text.replace(/^Silence: /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Whether the end of a conversation says so itself. */
export function saysWhy(said: readonly Item[]): boolean {
  const last = said.findLastIndex((item) => item.kind === "said");
  return said.slice(Math.max(last, 0)).some((item) => (item.kind === "note" && item.why !== undefined) || (item.kind === "said" && item.error !== undefined));
}
