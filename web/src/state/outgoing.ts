// What this browser has said in a session and does not see there yet. It goes on its way whichever session is looked at.

import { batch, effect, signal } from "@preact/signals";
import { Refused } from "../wire/frames";
import type { MessageRow } from "../wire/shapes";
import { type Fate, fateOf } from "./fates";
import { call, may, whenever } from "./gateway";
import { type Pending, untold } from "./items";
import { type Unsent, forgetUnsent, keepUnsent, unsent, whenForgotten } from "./kept";

const AGAIN_MS = 1_000;
/** The gateway knows for longer what it was sent. */
const STALE_MS = 86_400_000;
const STALE = "it could not be sent in time";

/** Also on a page that came in clear text, where `crypto.randomUUID` is missing. */
export const newName = (): string => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** `at` is when it was said, or last sent again by a person. */
interface Sent extends Pending {
  at: number;
}

export class Outgoing {
  readonly waits = signal<Sent[]>([]);
  /** Told of the answer to a command that was not heard when it was given. */
  answered: ((one: Pending, text: string) => void) | null = null;
  #again = 0;
  #delivering = false;
  #stored: ReadonlySet<string> = new Set();

  constructor(readonly key: string) {
    this.waits.value = unsent().filter((one) => one.key === key).map(taken);
    effect(() => this.#keep(this.waits.value));
  }

  /** The same message by the same name, however often the connection is lost on the way. */
  async say(text: string): Promise<void> {
    this.waits.value = [...this.waits.peek(), said(newName(), text)];
    await this.deliver();
  }

  async again(id: string): Promise<void> {
    const one = this.#named(id);
    if (!one) return;
    // Under the name it had, what the gateway has given up would be taken for that again.
    const name = one.state === "lost" ? newName() : id;
    this.waits.value = this.waits.peek().map((other) => (other.id === id ? said(name, one.text) : other));
    await this.deliver();
  }

  drop(id: string): void {
    this.waits.value = this.waits.peek().filter((one) => one.id !== id);
  }

  mark(id: string, change: Partial<Pending>, only?: Pending["state"]): void {
    this.waits.value = this.waits.peek().map((one) => (one.id === id && (only === undefined || one.state === only) ? { ...one, ...change } : one));
  }

  has(id: string): boolean {
    return this.#named(id) !== undefined;
  }

  /** Send what was not sent yet, in the order in which it was said. */
  async deliver(): Promise<void> {
    if (this.#delivering) return;
    this.#delivering = true;
    const next = (): Sent | undefined => this.waits.peek().find((one) => one.state === "sending");
    for (let one = next(); one && (await this.#deliver(one)); one = next());
    this.#delivering = false;
  }

  /** What became of those that were taken, and that no row tells of: only the gateway knows. */
  async settle(...states: Pending["state"][]): Promise<void> {
    const asked = this.waits.peek().filter((one) => states.includes(one.state));
    const fates = await Promise.all(asked.map((one) => fateOf(one)));
    batch(() => asked.forEach((one, place) => this.#settle(one.id, fates[place] as Fate)));
  }

  /** What is in the transcript does not wait any more. */
  forget(rows: readonly MessageRow[], waiting: ReadonlySet<string>): void {
    const left = untold(this.waits.peek(), rows, waiting);
    if (left.length !== this.waits.peek().length) this.waits.value = left;
  }

  /** Another page of this browser has dropped one, or sent it again: whoever sees why it was not sent sees that no more. */
  forgotten(id: string): void {
    if (this.#named(id)?.error !== undefined) this.drop(id);
  }

  /** Whether it is known what became of it. */
  async #deliver(one: Sent): Promise<boolean> {
    if (Date.now() - one.at > STALE_MS) {
      this.mark(one.id, { state: "failed", error: STALE });
      return true;
    }
    const params = { sessionKey: this.key, message: one.text, idempotencyKey: one.id };
    try {
      const { status } = await call<{ status: string }>("chat.send", params);
      this.mark(one.id, { state: "sent" }, "sending");
      // It was sent before, and nothing more will be heard of it.
      if (status === "ok") void this.settle("sent");
      return true;
    } catch (error) {
      // What was lost is sent again, under the same name, once the gateway is back.
      if (!(error instanceof Refused) || error.lost) return false;
      if (error.shape.retryable) this.#soon();
      else this.mark(one.id, { state: "failed", error: error.message });
      return !error.shape.retryable;
    }
  }

  #soon(): void {
    window.clearTimeout(this.#again);
    this.#again = window.setTimeout(() => void this.deliver(), AGAIN_MS);
  }

  #settle(id: string, fate: Fate): void {
    const one = this.#named(id);
    if (!one || fate.is === "waits") return;
    if (fate.is === "lost") return this.mark(id, { state: "lost", error: fate.why });
    this.drop(id);
    if (fate.is === "answered") this.answered?.(one, fate.text);
  }

  #named(id: string): Sent | undefined {
    return this.waits.peek().find((one) => one.id === id);
  }

  #keep(waits: readonly Sent[]): void {
    const left = waits.filter((one) => one.state !== "sent");
    const before = this.#stored;
    this.#stored = new Set(left.map((one) => one.id));
    for (const one of left) keepUnsent(storedOf(this.key, one));
    for (const id of before) if (!this.#stored.has(id)) forgetUnsent(id);
  }
}

const said = (id: string, text: string): Sent => ({ kind: "pending", id, text, state: "sending", at: Date.now() });

/** Of what was said, that which the gateway has not taken, or may still give up. */
function storedOf(key: string, { id, text, at, error, state }: Sent): Unsent {
  return { id, key, text, at, ...(error === undefined ? {} : { error }), ...(state === "joined" || state === "lost" ? { state } : {}) };
}

function taken({ id, text, at, error, state }: Unsent): Sent {
  const reached = state ?? (error === undefined ? "sending" : "failed");
  return { kind: "pending", id, text, at, state: reached, ...(error === undefined ? {} : { error }) };
}

const all = new Map<string, Outgoing>();

export function outgoingOf(key: string): Outgoing {
  const found = all.get(key) ?? new Outgoing(key);
  all.set(key, found);
  return found;
}

/** In every session in which something waits, whichever is looked at. */
whenever(() => {
  for (const { key } of unsent()) outgoingOf(key);
  for (const one of all.values()) if (may("write")) void one.deliver();
});

whenForgotten((id) => {
  for (const one of all.values()) one.forgotten(id);
});
