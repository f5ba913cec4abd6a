// A job as the gateway sends it, and as it is asked for.

import type { Schedule } from "../schedules";

export type Payload =
  | { kind: "systemEvent"; text: string }
  | { kind: "agentTurn"; message: string; model?: string; thinking?: string; timeoutSeconds?: number };

export interface Delivery {
  mode: "none" | "announce" | "webhook";
  channel?: string;
  to?: string;
  accountId?: string;
  threadId?: string | number;
}

export interface Job {
  id: string;
  name: string;
  enabled: boolean;
  agentId: string;
  schedule: Schedule;
  sessionTarget: string;
  wakeMode: string;
  payload: Payload;
  delivery: Delivery;
  missed?: "skip";
  overlap?: "wait";
  deleteAfterRun?: boolean;
  state: {
    nextRunAtMs?: number;
    lastRunAtMs?: number;
    runningAtMs?: number;
    lastRunStatus?: "ok" | "error" | "skipped";
    lastDurationMs?: number;
    lastError?: string;
  };
}

export interface Listed {
  jobs: Job[];
  total: number;
  deliveryPreviews: Record<string, { label: string; detail: string }>;
}

/** One time a job was due, and what came of it. */
export interface Firing {
  runAtMs: number;
  dueAtMs: number;
  sessionKey: string;
  status?: "ok" | "error" | "skipped";
  durationMs?: number;
  summary?: string;
  error?: string;
}

export const wordsOf = (payload: Payload): string => (payload.kind === "systemEvent" ? payload.text : payload.message);
