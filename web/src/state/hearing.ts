// Which sessions this page hears. One is asked for after another: the gateway answers requests in any order.

import { call } from "./gateway";

let last: Promise<unknown> = Promise.resolve();

function inTurn<T>(ask: () => Promise<T>): Promise<T> {
  const asked = last.then(ask);
  last = asked.catch(() => undefined);
  return asked;
}

/** The session's key as the gateway spells it. */
export const hear = async (key: string): Promise<string> => (await inTurn(() => call<{ key: string }>("sessions.messages.subscribe", { key }))).key;

export function leave(key: string): void {
  inTurn(() => call("sessions.messages.unsubscribe", { key })).catch(() => undefined);
}
