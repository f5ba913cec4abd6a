// Which sessions this page hears. One is asked for after another: the gateway answers requests in any order.

import { call } from "./gateway";

let last: Promise<unknown> = Promise.resolve();

function inTurn<T>(ask: () => Promise<T>): Promise<T> {
  const asked = last.then(ask);
  last = asked.catch(() => undefined);
  return asked;
}

// How many conversations of this page are about each session: one that is left may have been come back to.
const here = new Map<string, number>();
const spelt = new Map<string, string>();

function count(key: string, more: 1 | -1): void {
  const left = (here.get(key) ?? 0) + more;
  if (left) here.set(key, left);
  else here.delete(key);
}

export function come(key: string): void {
  count(key, 1);
}

/** The session's key as the gateway spells it. */
export async function hear(key: string): Promise<string> {
  const told = await inTurn(() => call<{ key: string }>("sessions.messages.subscribe", { key }));
  spelt.set(key, told.key);
  return told.key;
}

export function leave(key: string): void {
  count(key, -1);
  inTurn(async () => {
    const known = spelt.get(key) ?? key;
    if (!here.has(key) && !here.has(known)) await call("sessions.messages.unsubscribe", { key: known });
  }).catch(() => undefined);
}
