// Frames of gateway protocol 4, and what a refusal says.

export interface ErrorShape {
  code: string;
  message: string;
  details?: { code?: string; requestId?: string; [name: string]: unknown };
  retryable?: boolean;
  retryAfterMs?: number;
}

export interface Answer {
  type: "res";
  id: string;
  ok: boolean;
  payload?: unknown;
  error?: ErrorShape;
}

export interface Told {
  type: "event";
  event: string;
  payload: unknown;
  seq?: number;
}

export interface Challenge {
  nonce: string;
  ts: number;
}

export interface Hello {
  server: { version: string; bootId: string; connId: string };
  features: { methods: string[]; events: string[] };
  snapshot: {
    uptimeMs: number;
    authMode?: string;
    configPath?: string;
    sessionDefaults: { defaultAgentId: string; mainKey: string; mainSessionKey: string };
  };
  auth: { method: string; scopes: string[]; deviceToken?: string };
  policy: { tickIntervalMs: number };
}

/** A request that was refused, or that was lost with its connection. */
export class Refused extends Error {
  constructor(readonly shape: ErrorShape) {
    super(shape.message);
  }

  get kind(): string {
    return this.shape.details?.code ?? this.shape.code;
  }

  get lost(): boolean {
    return this.shape.code === LOST;
  }
}

const LOST = "LOST";

export const lost = (): Refused => new Refused({ code: LOST, message: "the connection was lost" });

export function read(text: string): Answer | Told | null {
  const frame: unknown = JSON.parse(text);
  if (typeof frame !== "object" || frame === null || !("type" in frame)) return null;
  return frame.type === "res" || frame.type === "event" ? (frame as Answer | Told) : null;
}
