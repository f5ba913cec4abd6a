// One line to the gateway this page came from. It comes back by itself, and says when something may have been missed.

import { type Challenge, type ErrorShape, type Hello, Refused, type Told, lost, read } from "./frames";

export type Phase = "connecting" | "open" | "lost" | "refused";

export interface Listener {
  /** What to say at the handshake. */
  greet(challenge: Challenge): Promise<Record<string, unknown>>;
  phase(phase: Phase, why?: ErrorShape): void;
  opened(hello: Hello): void;
  told(event: Told): void;
  /** Events were missed: what is shown has to be read anew. */
  gap(): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(reason: Refused): void;
}

const FIRST_MS = 300;
const LONGEST_MS = 10_000;
const TICK_MS = 30_000;

export class Link {
  #socket: WebSocket | null = null;
  #waiting = new Map<string, Waiting>();
  #asked = 0;
  #seq = 0;
  #pause = FIRST_MS;
  #timer = 0;
  #silence = 0;
  #tick = TICK_MS;
  #open = false;

  constructor(
    readonly url: string,
    private readonly listener: Listener,
  ) {
    window.addEventListener("online", () => this.retry());
  }

  /** Connect, or begin anew with what is now said at the handshake. */
  start(): void {
    window.clearTimeout(this.#timer);
    this.#drop();
    this.listener.phase("connecting");
    const socket = new WebSocket(this.url);
    this.#socket = socket;
    socket.onmessage = (message) => this.#hear(socket, String(message.data));
    socket.onclose = () => this.#closed(socket);
    this.#listen();
  }

  /** Do not wait for the next attempt. */
  retry(): void {
    if (!this.#open && this.#timer) this.start();
  }

  request<T>(method: string, params: object = {}): Promise<T> {
    if (!this.#open) return Promise.reject(lost());
    return this.#ask(method, params) as Promise<T>;
  }

  #ask(method: string, params: object): Promise<unknown> {
    const id = String(++this.#asked);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#socket?.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  #hear(socket: WebSocket, text: string): void {
    if (socket !== this.#socket) return;
    this.#listen();
    const frame = read(text);
    if (frame?.type === "res") {
      const waiting = this.#waiting.get(frame.id);
      this.#waiting.delete(frame.id);
      if (frame.ok) waiting?.resolve(frame.payload);
      else waiting?.reject(new Refused(frame.error ?? { code: "UNAVAILABLE", message: "no answer" }));
    } else if (frame?.event === "connect.challenge") {
      void this.#shake(socket, frame.payload as Challenge);
    } else if (frame) {
      if (frame.seq !== undefined && frame.seq !== this.#seq + 1) this.listener.gap();
      this.#seq = frame.seq ?? this.#seq;
      this.listener.told(frame);
    }
  }

  async #shake(socket: WebSocket, challenge: Challenge): Promise<void> {
    try {
      const greeting = await this.listener.greet(challenge);
      // It answers this challenge, and no other.
      if (socket !== this.#socket) return;
      const hello = (await this.#ask("connect", greeting)) as Hello;
      if (socket !== this.#socket) return;
      this.#seq = 0;
      this.#pause = FIRST_MS;
      this.#tick = hello.policy.tickIntervalMs;
      this.#open = true;
      this.listener.opened(hello);
      this.listener.phase("open");
    } catch (error) {
      const shape = error instanceof Refused ? error.shape : { code: "UNAVAILABLE", message: String(error) };
      if (socket !== this.#socket || (error instanceof Refused && error.lost)) return;
      if (shape.retryable && !shape.details?.requestId) return;
      this.#drop();
      this.listener.phase("refused", shape);
    }
  }

  #closed(socket: WebSocket): void {
    if (socket !== this.#socket) return;
    this.#drop();
    this.listener.phase("lost");
    this.#timer = window.setTimeout(() => this.start(), this.#pause * (0.5 + Math.random() / 2));
    this.#pause = Math.min(this.#pause * 2, LONGEST_MS);
  }

  #drop(): void {
    window.clearTimeout(this.#silence);
    const socket = this.#socket;
    this.#socket = null;
    this.#open = false;
    this.#timer = 0;
    socket?.close();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.reject(lost());
  }

  /** A gateway that says nothing for two ticks is not there. */
  #listen(): void {
    window.clearTimeout(this.#silence);
    const socket = this.#socket;
    if (socket) this.#silence = window.setTimeout(() => this.#closed(socket), 2 * this.#tick);
  }
}
