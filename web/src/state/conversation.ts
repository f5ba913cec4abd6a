// One session that is open: what was said, what is being said, and what this page has sent and not seen yet.

import { batch, computed, effect, signal } from "@preact/signals";
import { Refused } from "../wire/frames";
import type { AgentEvent, ChatEvent, Defaults, History, MessageRow, SessionRow } from "../wire/shapes";
import { wordsOf } from "../wire/shapes";
import { type Fate, fatesOf } from "./fates";
import { call, on, whenever } from "./gateway";
import { keepUnsent, unsentOf } from "./kept";
import { type Meanwhile, Readings } from "./meanwhile";
import { type Page, marksOf, pageOf, standing } from "./past";
import { type Item, NOTHING_SAID, type Note, type Pending, type Speaking, type Tool, itemsOf, keptOf, merged, stopped, toolOf, untold, unsettled } from "./items";

const PAGE = 100;
const OLDER_PAGE = 500;
const AGAIN_MS = 1_000;

export class Conversation {
  readonly rows = signal<MessageRow[]>([]);
  readonly notes = signal<Note[]>([]);
  readonly pending = signal<Pending[]>([]);
  /** What the gateway keeps for a later turn, whoever sent it. */
  readonly kept = signal<Pending[]>([]);
  readonly speaking = signal<Speaking | null>(null);
  readonly tools = signal<ReadonlyMap<string, Tool>>(new Map());
  readonly info = signal<SessionRow | null>(null);
  readonly defaults = signal<Defaults | null>(null);
  readonly hasMore = signal(false);
  readonly ready = signal(false);
  readonly problem = signal<string | null>(null);
  readonly said = computed(() => itemsOf(this.rows.value, this.notes.value));
  readonly results = computed(
    () => new Map(this.rows.value.filter((row) => row.role === "toolResult").map((row) => [row.toolCallId ?? "", row])),
  );
  readonly items = computed<Item[]>(() => {
    const speaking = this.speaking.value;
    const own = this.pending.value;
    const waits = [...this.kept.value.filter((one) => !own.some((sent) => sent.id === one.id)), ...own];
    const answered = waits.filter((one) => one.id === speaking?.id);
    return [...this.said.value, ...answered, ...(speaking ? [speaking] : []), ...waits.filter((one) => one.id !== speaking?.id)];
  });
  readonly busy = computed(() => this.speaking.value !== null);

  #older: string | null = null;
  #loading: Promise<void> | null = null;
  #ends: (() => void)[];
  #frame = 0;
  #again = 0;
  #heard: ChatEvent | null = null;
  #readings = new Readings();

  constructor(readonly key: string) {
    this.pending.value = unsentOf(key).map((one) => ({ kind: "pending", ...one, state: one.state ?? (one.error === undefined ? "sending" : "failed") }));
    this.#ends = [
      effect(() => {
        keepUnsent(key, unsettled(this.pending.value));
      }),
      whenever(() => void this.#read().catch(() => undefined)),
      on<ChatEvent>("chat", (told) => this.#mine(told) && this.#chat(told)),
      on<AgentEvent>("agent", (told) => this.#mine(told) && this.#agent(told)),
      on<AgentEvent>("session.tool", (told) => this.#mine(told) && this.#tool(told.data)),
      on<{ sessionKey: string; message: MessageRow }>("session.message", (told) => this.#mine(told) && this.#stored([told.message])),
      on<{ sessionKey: string; session?: SessionRow }>("sessions.changed", (told) => {
        if (this.#mine(told) && told.session) this.#changed(told.session);
      }),
    ];
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    window.clearTimeout(this.#again);
    for (const end of this.#ends) end();
    void call("sessions.messages.unsubscribe", { key: this.key }).catch(() => undefined);
  }

  /** The same message by the same name, however often the connection is lost on the way. */
  async send(text: string): Promise<void> {
    const one: Pending = { kind: "pending", id: crypto.randomUUID(), text, state: "sending" };
    this.pending.value = [...this.pending.value, one];
    await this.#deliver(one);
  }

  async resend(id: string): Promise<void> {
    const one = this.pending.value.find((pending) => pending.id === id);
    if (!one) return;
    // Under the name it had, what the gateway has given up would be taken for that again.
    const name = one.state === "lost" ? crypto.randomUUID() : id;
    const again: Pending = { kind: "pending", id: name, text: one.text, state: "sending" };
    this.pending.value = this.pending.value.map((pending) => (pending.id === id ? again : pending));
    await this.#deliver(again);
  }

  drop(id: string): void {
    this.pending.value = this.pending.value.filter((one) => one.id !== id);
  }

  async stop(): Promise<void> {
    await call("chat.abort", { sessionKey: this.key });
  }

  async older(): Promise<void> {
    if (!this.hasMore.peek() || this.#loading) return this.#loading ?? undefined;
    this.#loading = this.#page().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  /** Read back until a message is there. */
  async reach(id: string): Promise<boolean> {
    const there = (): boolean => this.rows.peek().some((row) => row.__openclaw.id === id);
    while (!there() && this.hasMore.peek()) await this.older();
    return there();
  }

  #mine(told: { sessionKey: string }): boolean {
    return told.sessionKey === this.key;
  }

  async #read(): Promise<void> {
    const meanwhile = this.#readings.begin();
    try {
      await call("sessions.messages.subscribe", { key: this.key });
      // In this order: an answer that is stored in between is heard of, and not shown twice.
      const page = await pageOf(this.key, PAGE);
      const found = await standing(this.key);
      const fates = await fatesOf(this.pending.peek().filter((one) => one.state === "joined" || one.state === "sent"));
      if (!this.#readings.overtake(meanwhile)) return;
      this.#draw();
      batch(() => {
        this.#begin(found, page, meanwhile);
        this.#settle(fates);
        // What came meanwhile, too: what was found waiting may have been heard since.
        this.#forget(this.rows.peek(), new Set(this.kept.peek().map((one) => one.id)));
      });
      await Promise.all(this.pending.peek().filter((one) => one.state === "sending").map((one) => this.#deliver(one)));
    } catch (error) {
      if (!(error instanceof Refused) || error.lost) return;
      this.problem.value = error.message;
      if (error.shape.retryable) this.#soon();
    } finally {
      this.#readings.end(meanwhile);
    }
  }

  /** What counts is what is stored: it is read once more when a run has ended. */
  #soon(): void {
    window.clearTimeout(this.#again);
    this.#again = window.setTimeout(() => void this.#read(), AGAIN_MS);
  }

  #begin(found: History, page: Page, meanwhile: Meanwhile): void {
    // What was missed meets what is shown, unless it is more than a page.
    const meets = this.rows.peek().some((row) => row.__openclaw.id === page.rows[0]?.__openclaw.id);
    this.rows.value = merged(meanwhile.rows(this.rows.peek(), page.rows), marksOf(found));
    if (!meets) this.#turned(page.older);
    this.info.value = found.sessionInfo ?? null;
    this.defaults.value = found.defaults;
    this.speaking.value = meanwhile.speaking(this.speaking.peek(), found.inFlightRun);
    this.kept.value = keptOf(found);
    this.problem.value = null;
    this.ready.value = true;
  }

  async #page(): Promise<void> {
    const page = await pageOf(this.key, OLDER_PAGE, this.#older);
    batch(() => {
      this.rows.value = merged(page.rows, this.rows.peek());
      this.#turned(page.older);
    });
  }

  #turned(older: string | null): void {
    this.#older = older;
    this.hasMore.value = older !== null;
  }

  async #deliver(one: Pending): Promise<void> {
    const params = { sessionKey: this.key, message: one.text, idempotencyKey: one.id };
    try {
      await call("chat.send", params);
      this.#mark(one.id, { state: "sent" }, "sending");
    } catch (error) {
      // What was lost is sent again, under the same name, once the gateway is back.
      if (!(error instanceof Refused) || error.lost) return;
      if (error.shape.retryable) this.#soon();
      else this.#mark(one.id, { state: "failed", error: error.message });
    }
  }

  #mark(id: string, change: Partial<Pending>, only?: Pending["state"]): void {
    this.pending.value = this.pending.value.map((one) =>
      one.id === id && (only === undefined || one.state === only) ? { ...one, ...change } : one,
    );
  }

  #chat(told: ChatEvent): void {
    if (told.state === "delta" || told.state === "status") {
      this.#readings.spoke(told.runId);
      this.#heard = told;
      this.#frame ||= requestAnimationFrame(() => this.#draw());
      return;
    }
    this.#draw();
    batch(() => {
      if (told.state === "final" && told.stopReason === undefined) this.#answered(told);
      else this.#ended(told);
    });
  }

  /** At most once a frame: a fast model does not slow the page down. */
  #draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const told = this.#heard;
    this.#heard = null;
    if (!told) return;
    const before = this.speaking.peek()?.id === told.runId ? this.speaking.peek() : null;
    const text = told.message ? wordsOf(told.message) : (before?.text ?? "");
    this.speaking.value = { ...NOTHING_SAID, ...before, id: told.runId, text };
  }

  /** A command has its answer; a message that joined another run has none of its own. */
  #answered(told: ChatEvent): void {
    const asked = this.pending.peek().find((one) => one.id === told.runId);
    if (!told.message) {
      this.#mark(told.runId, { state: "joined" });
      return;
    }
    const after = this.rows.peek().at(-1)?.__openclaw.id ?? null;
    const note: Note = { kind: "note", id: told.runId, question: asked?.text ?? "", answer: wordsOf(told.message), after };
    this.notes.value = [...this.notes.peek(), note];
    this.pending.value = this.pending.peek().filter((one) => one.id !== told.runId);
  }

  #ended(told: ChatEvent): void {
    this.#readings.ended(told.runId);
    if (this.speaking.peek()?.id === told.runId) this.speaking.value = null;
    void this.#ask();
    if (told.state === "final") return;
    const why = told.errorMessage ?? "stopped";
    this.kept.value = this.kept.peek().filter((one) => one.id !== told.runId);
    // What no row tells of was not heard by the agent.
    if (this.pending.peek().some((one) => one.id === told.runId)) return this.#mark(told.runId, { state: "lost", error: why });
    const text = told.state === "aborted" ? stopped(why) : `This failed: ${why}`;
    const after = this.rows.peek().at(-1)?.__openclaw.id ?? null;
    this.notes.value = [...this.notes.peek(), { kind: "note", id: `${told.runId}:end`, question: "", answer: text, why, after }];
  }

  /** A run that ended without what joined it: that waits for the next one, or was given up. Only the gateway knows. */
  async #ask(): Promise<void> {
    const fates = await fatesOf(this.pending.peek().filter((one) => one.state === "joined"));
    batch(() => this.#settle(fates));
  }

  #settle(fates: ReadonlyMap<string, Fate>): void {
    for (const [id, fate] of fates) {
      if (fate.is === "taken") this.drop(id);
      else if (fate.is === "lost") this.#mark(id, { state: "lost", error: fate.why });
    }
  }

  #agent(told: AgentEvent): void {
    if (told.stream !== "thinking") return;
    const before = this.speaking.peek();
    if (before?.id === told.runId) this.speaking.value = { ...before, thinking: String(told.data["text"] ?? "") };
  }

  #tool(data: Record<string, unknown>): void {
    const id = String(data["toolCallId"]);
    this.tools.value = new Map(this.tools.peek()).set(id, toolOf(id, data, this.tools.peek().get(id)));
  }

  #stored(rows: MessageRow[]): void {
    this.#readings.stored(rows);
    batch(() => {
      this.rows.value = merged(this.rows.peek(), rows);
      this.#forget(rows);
      const speaking = this.speaking.peek();
      // What was streamed is now told by its row.
      if (speaking && rows.some((row) => row.role === "assistant")) this.speaking.value = { ...NOTHING_SAID, id: speaking.id };
    });
  }

  /** What is in the transcript is not pending any more. */
  #forget(rows: readonly MessageRow[], waiting: ReadonlySet<string> = new Set()): void {
    for (const list of [this.pending, this.kept]) {
      const left = untold(list.peek(), rows, waiting);
      if (left.length !== list.peek().length) list.value = left;
    }
  }

  #changed(row: SessionRow): void {
    const before = this.info.peek();
    this.info.value = row;
    // Another conversation under the same key: its mark, and what came before, are read anew.
    if (before && before.sessionId !== row.sessionId) void this.#read();
    else if (!row.hasActiveRun) this.#soon();
  }
}
