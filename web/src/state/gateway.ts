// The gateway as the page knows it: whether it is there, what it allows, what it says.

import { computed, signal } from "@preact/signals";
import * as credential from "../wire/credential";
import type { Challenge, ErrorShape, Hello, Told } from "../wire/frames";
import { Identity, canPair } from "../wire/identity";
import { Link, type Phase } from "../wire/link";
import { forgetWords } from "./kept";

const CLIENT = "roost-web";
const MODE = "webchat";
const ROLE = "operator";
const PLATFORM = "web";
const SCOPES = ["operator.admin", "operator.pairing", "operator.read", "operator.write"];

export const phase = signal<Phase>("connecting");
export const refusal = signal<ErrorShape | null>(null);
export const hello = signal<Hello | null>(null);
/** Whether this browser asks to be paired, and with which code, if a person typed one. */
export const pairing = signal<{ code?: string } | null>(null);

const hearers = new Map<string, Set<(payload: never) => void>>();
const rereaders = new Set<() => void>();

export const may = (scope: string): boolean => {
  const held = hello.value?.auth.scopes ?? [];
  return held.includes("operator.admin") || held.includes(`operator.${scope}`);
};
export const has = (method: string): boolean => hello.value?.features.methods.includes(method) ?? false;
export const mainKey = computed(() => hello.value?.snapshot.sessionDefaults.mainSessionKey ?? "");

const link = new Link(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/gateway`, {
  greet,
  phase(now, why) {
    refusal.value = why ?? (now === "open" ? null : refusal.value);
    phase.value = now;
  },
  opened(told) {
    if (told.auth.deviceToken) credential.keepDevice(told.auth.deviceToken);
    pairing.value = null;
    hello.value = told;
    reread();
  },
  told(event: Told) {
    for (const hear of hearers.get(event.event) ?? []) hear(event.payload as never);
  },
  gap: reread,
});

async function greet(challenge: Challenge): Promise<Record<string, unknown>> {
  const client = { id: CLIENT, version: "1", platform: PLATFORM, mode: MODE, displayName: browserName() };
  const shown = pairing.value ? {} : credential.current();
  const auth: credential.Credential = pairing.value?.code ? { bootstrapToken: pairing.value.code } : shown;
  const base = { minProtocol: 4, maxProtocol: 4, client, role: ROLE, scopes: SCOPES, caps: ["session-scoped-events"], auth };
  if (auth.token || !(pairing.value || auth.deviceToken) || !canPair()) return base;
  const secret = auth.deviceToken ?? auth.bootstrapToken ?? "";
  const identity = await Identity.load();
  const said = { client: CLIENT, mode: MODE, role: ROLE, scopes: SCOPES, secret, platform: PLATFORM };
  return { ...base, device: await identity.prove(challenge, said) };
}

function browserName(): string {
  const known = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(navigator.userAgent)?.[1] ?? "Browser";
  return { Edg: "Edge", OPR: "Opera" }[known] ?? known;
}

function reread(): void {
  for (const read of rereaders) read();
}

export function start(): void {
  credential.fromFragment();
  // Opened where the page is already, an address with a token changes the fragment and loads nothing.
  window.addEventListener("hashchange", () => credential.fromFragment() && enter());
  enter();
}

export function signIn(token: string): void {
  credential.keep(token.trim());
  enter();
}

function enter(): void {
  pairing.value = null;
  link.start();
}

export function askToPair(code?: string): void {
  credential.forget();
  pairing.value = code ? { code } : {};
  link.start();
}

export function signOut(): void {
  credential.forget();
  forgetWords();
  location.reload();
}

export const retry = (): void => link.retry();
export const call = <T>(method: string, params: object = {}): Promise<T> => link.request<T>(method, params);

/** Hear events of a name; the result ends it. */
export function on<T>(event: string, hear: (payload: T) => void): () => void {
  const those = hearers.get(event) ?? new Set();
  hearers.set(event, those);
  those.add(hear as (payload: never) => void);
  return () => those.delete(hear as (payload: never) => void);
}

/** Be called whenever what is shown may be out of date: after each connection and each gap. Now, too, if connected. */
export function whenever(read: () => void): () => void {
  rereaders.add(read);
  if (phase.peek() === "open") read();
  return () => rereaders.delete(read);
}
