// What became of messages that were taken and that no row tells of.

import { call } from "./gateway";

interface Waited {
  status: "ok" | "timeout" | "error";
  endedAt?: number;
  error?: string;
}

export type Fate = { is: "waits" | "taken" } | { is: "lost"; why: string };

export async function fatesOf(sent: readonly { id: string }[]): Promise<ReadonlyMap<string, Fate>> {
  return new Map(await Promise.all(sent.map(async ({ id }) => [id, await fateOf(id)] as const)));
}

async function fateOf(id: string): Promise<Fate> {
  const found = await call<Waited>("agent.wait", { runId: id, timeoutMs: 0 }).catch(() => null);
  if (!found) return { is: "waits" };
  // A run ended with it, however: then it stands in the transcript.
  if (found.endedAt !== undefined) return { is: "taken" };
  return found.status === "error" ? { is: "lost", why: found.error ?? "" } : { is: "waits" };
}
