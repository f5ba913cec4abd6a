// What can be done to a session from anywhere it is shown.

import { call, has, may } from "../state/gateway";
import { markUnread } from "../state/kept";
import { go } from "../state/route";
import { patch, remove, reset } from "../state/sessions";
import { type SessionRow, titleOf } from "../wire/shapes";
import { ask, attempt } from "./dialogs";
import { exportSession } from "./exporting";
import type { Action } from "./Menu";

export function actionsOf(row: SessionRow): Action[] {
  const { key } = row;
  const written: Action[] = [
    { name: row.pinned ? "Unpin" : "Pin", icon: "pin", act: () => void attempt(() => patch(key, { pinned: !row.pinned })) },
    { name: "Rename…", icon: "edit", act: () => void rename(row) },
    { name: row.archived ? "Bring back" : "Archive", icon: "archive", act: () => void attempt(() => patch(key, { archived: !row.archived })) },
  ];
  const ruled: Action[] = [
    { name: "Reset…", icon: "redo", act: () => void startAfresh(row) },
    ...(row.isMain ? [] : [{ name: "Delete…", icon: "trash", danger: true, act: () => void erase(row) } as const]),
  ];
  return [
    { name: "Mark unread", icon: "unread", act: () => markUnread(key) },
    ...(may("write") ? written : []),
    { name: "Show its tree", icon: "tree", act: () => go({ at: "tree", key }) },
    ...(has("sessions.explain") ? [{ name: "Why is it so?", icon: "search", act: () => void explain(row) } as const] : []),
    { name: "Export", icon: "download", act: () => void attempt(() => exportSession(row)) },
    ...(may("admin") ? ruled : []),
  ];
}

/** Why it is routed, answered, reset and silent as it is. */
async function explain(row: SessionRow): Promise<void> {
  await attempt(async () => {
    const { reasons } = await call<{ reasons: { about: string; text: string }[] }>("sessions.explain", { key: row.key });
    const text = reasons.map((reason) => `${reason.about}: ${reason.text}`).join("\n\n");
    await ask({ title: `Why “${titleOf(row)}” is as it is`, text, action: "Close" });
  });
}

export async function rename(row: SessionRow): Promise<void> {
  const name = await ask({ title: "Rename this session", action: "Rename", input: { label: "Name; leave it empty for the default", value: row.label ?? "" } });
  if (name !== null) await attempt(() => patch(row.key, { label: name.trim() || null }));
}

export async function startAfresh(row: SessionRow): Promise<void> {
  const text = "The agent begins with nothing of what was said. The old conversation is kept, and can be read and searched.";
  const answer = await ask({ title: `Reset “${titleOf(row)}”?`, text, action: "Reset" });
  if (answer !== null) await attempt(() => reset(row.key), "A new conversation begins");
}

async function erase(row: SessionRow): Promise<void> {
  const text = "Its transcripts are removed for good. What it cost stays in the books.";
  const answer = await ask({ title: `Delete “${titleOf(row)}”?`, text, action: "Delete", danger: true });
  if (answer === null) return;
  await attempt(() => remove(row.key), "Deleted");
  go({ at: "chat", key: "" });
}
