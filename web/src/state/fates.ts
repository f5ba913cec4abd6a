// What became of a message that was taken and that no row tells of.

import { call } from "./gateway";
import type { Pending } from "./items";

interface Waited {
  status: "ok" | "timeout" | "error";
  startedAt?: number;
  endedAt?: number;
  error?: string;
  terminalReply?: { text?: string };
}

export type Fate = { is: "waits" | "taken" } | { is: "answered"; text: string } | { is: "lost"; why: string };

export async function fateOf({ id, state }: Pending): Promise<Fate> {
  const found = await call<Waited>("agent.wait", { runId: id, timeoutMs: 0 }).catch(() => null);
  if (!found) return { is: "waits" };
  // A run ended with it, however: then it stands in the transcript.
  if (found.endedAt !== undefined) return { is: "taken" };
  // No run had it: it was a command.
  if (found.status === "ok") return { is: "answered", text: found.terminalReply?.text ?? "" };
  // Its own run goes on, though by another name where the gateway was started anew.
  if (state === "sent" && found.startedAt !== undefined) return { is: "taken" };
  return found.status === "error" ? { is: "lost", why: found.error ?? "" } : { is: "waits" };
}
