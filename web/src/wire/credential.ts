// What this page shows the gateway it came from. Kept by the browser for this origin alone; no address is ever read
// from anywhere, and nothing but a fragment or a person gives a token.

import * as storage from "./storage";

const TOKEN = "roost.token";
const DEVICE = "roost.deviceToken";

export interface Credential {
  token?: string;
  deviceToken?: string;
  bootstrapToken?: string;
}

/** Takes `#token=…` out of the address, and out of the history, before anything else can read it; whether there was one. */
export function fromFragment(): boolean {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (location.search || given !== null) history.replaceState(null, "", location.pathname + (given === null ? location.hash : ""));
  if (given) keep(given);
  return Boolean(given);
}

export function current(): Credential {
  const token = storage.recall(TOKEN);
  const device = storage.recall(DEVICE);
  return token ? { token } : device ? { deviceToken: device } : {};
}

export function keep(token: string): void {
  storage.remember(TOKEN, token);
}

export function keepDevice(token: string): void {
  storage.remember(DEVICE, token);
}

export function forget(): void {
  storage.forget(TOKEN);
  storage.forget(DEVICE);
}
