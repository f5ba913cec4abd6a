// One session that is open: what was said, what is being said, and what this page has sent and not seen yet.

import { batch, computed, signal } from "@preact/signals";
import { Refused } from "../wire/frames";
import type { AgentEvent, ChatEvent, Defaults, History, MessageRow, SessionRow } from "../wire/shapes";
import { wordsOf } from "../wire/shapes";
import { call, on, whenever } from "./gateway";
import { come, hear, leave } from "./hearing";
import { type Meanwhile, Readings } from "./meanwhile";
import { type Outgoing, outgoingOf } from "./outgoing";
import { type Page, marksOf, pageOf, standing } from "./past";
import { respell } from "./route";
import { type Item, NOTHING_SAID, type Note, type Pending, type Speaking, type Tool, itemsOf, keptOf, merged, stopped, toolOf, untold } from "./items";

const PAGE = 100;
const OLDER_PAGE = 500;
const AGAIN_MS = 1_000;

export class Conversation {
  readonly rows = signal<MessageRow[]>([]);
  readonly notes = signal<Note[]>([]);
  readonly own: Outgoing;
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
    const own = this.own.waits.value;
    const waits = [...this.kept.value.filter((one) => !own.some((sent) => sent.id === one.id)), ...own];
    const answered = waits.filter((one) => one.id === speaking?.id);
    return [...this.said.value, ...answered, ...(speaking ? [speaking] : []), ...waits.filter((one) => one.id !== speaking?.id)];
  });
  readonly busy = computed(() => this.speaking.value !== null);

  #older: string | null = null;
  #loading: Promise<void> | null = null;
  #ends: (() => void)[];
  #closed = false;
  #frame = 0;
  #again = 0;
  #heard: ChatEvent | null = null;
  #readings = new Readings();

  constructor(readonly key: string) {
    come(key);
    this.own = outgoingOf(key);
    this.own.answered = ({ id, text }, answer) => this.#note(id, text, answer);
    this.#ends = [
      whenever(() => void this.#read().catch(() => undefined)),
      on<ChatEvent>("chat", (told) => this.#mine(told) && this.#chat(told)),
      on<AgentEvent>("agent", (told) => this.#mine(told) && this.#agent(told)),
      on<AgentEvent>("session.tool", (told) => this.#mine(told) && this.#tool(told.data)),
      on<{ sessionKey: string; message: MessageRow }>("session.message", (told) => this.#mine(told) && this.#stored([told.message])),
      on<{ sessionKey: string; session?: SessionRow; reason?: string }>("sessions.changed", (told) => {
        if (this.#mine(told) && told.session) this.#changed(told.session);
        else if (this.#mine(told) && told.reason === "delete") void this.#read();
      }),
      () => {
        this.own.answered = null;
      },
    ];
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    window.clearTimeout(this.#again);
    this.#closed = true;
    for (const end of this.#ends) end();
    leave(this.key);
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
      const key = await hear(this.key);
      if (key !== this.key) return this.#move(key);
      // In this order: an answer that is stored in between is heard of, and not shown twice.
      const page = await pageOf(this.key, PAGE);
      const found = await standing(this.key);
      await this.own.settle("joined", "sent");
      if (!this.#readings.overtake(meanwhile)) return;
      this.#draw();
      batch(() => {
        this.#begin(found, page, meanwhile);
        // What came meanwhile, too: what was found waiting may have been heard since.
        this.#forget(this.rows.peek(), new Set(this.kept.peek().map((one) => one.id)));
      });
    } catch (error) {
      if (!(error instanceof Refused) || error.lost) return;
      this.problem.value = error.message;
      if (error.shape.retryable) this.#soon();
    } finally {
      this.#readings.end(meanwhile);
    }
  }

  /** An address may spell the session in another way than what is heard of it. Who goes on there hears the same. */
  #move(key: string): void {
    if (this.#closed) return;
    respell({ at: "chat", key });
  }

  /** What counts is what is stored: it is read once more when a run has ended. */
  #soon(): void {
    window.clearTimeout(this.#again);
    if (!this.#closed) this.#again = window.setTimeout(() => void this.#read(), AGAIN_MS);
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
    // Known by its row, too: a gateway that was started anew does not know the name that was given here.
    for (const { id, row } of this.kept.peek()) if (row) this.own.mark(id, { row });
    this.problem.value = null;
    this.ready.value = true;
  }

  async #page(): Promise<void> {
    const end = this.#older;
    const page = await pageOf(this.key, OLDER_PAGE, end);
    // What was read anew meanwhile begins elsewhere: between the two there would be a hole.
    if (this.#older !== end) return;
    batch(() => {
      this.rows.value = merged(page.rows, this.rows.peek());
      this.#turned(page.older);
    });
  }

  #turned(older: string | null): void {
    this.#older = older;
    this.hasMore.value = older !== null;
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
    if (!told.message) return this.own.mark(told.runId, { state: "joined" });
    const asked = this.own.waits.peek().find((one) => one.id === told.runId);
    this.#note(told.runId, asked?.text ?? "", wordsOf(told.message));
    this.own.drop(told.runId);
  }

  #note(id: string, question: string, answer: string, why?: string): void {
    const after = this.rows.peek().at(-1)?.__openclaw.id ?? null;
    if (!answer || this.notes.peek().some((note) => note.id === id)) return;
    this.notes.value = [...this.notes.peek(), { kind: "note", id, question, answer, after, ...(why ? { why } : {}) }];
  }

  #ended(told: ChatEvent): void {
    this.#readings.ended(told.runId);
    if (this.speaking.peek()?.id === told.runId) this.speaking.value = null;
    // One that ended without what joined it: that waits for the next, or was given up.
    void this.own.settle("joined");
    if (told.state === "final") return;
    const why = told.errorMessage ?? "stopped";
    this.kept.value = this.kept.peek().filter((one) => one.id !== told.runId);
    // What no row tells of was not heard by the agent.
    if (this.own.has(told.runId)) return this.own.mark(told.runId, { state: "lost", error: why });
    this.#note(`${told.runId}:end`, "", told.state === "aborted" ? stopped(why) : `This failed: ${why}`, why);
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
    // Else what waits for the next frame would be drawn behind the row that tells it.
    if (rows.some((row) => row.role === "assistant")) this.#draw();
    batch(() => {
      this.rows.value = merged(this.rows.peek(), rows);
      this.#forget(rows);
      const speaking = this.speaking.peek();
      // What was streamed is now told by its row.
      if (speaking && rows.some((row) => row.role === "assistant")) this.speaking.value = { ...NOTHING_SAID, id: speaking.id };
    });
  }

  /** What is in the transcript does not wait any more. */
  #forget(rows: readonly MessageRow[], waiting: ReadonlySet<string> = new Set()): void {
    this.own.forget(rows, waiting);
    const left = untold(this.kept.peek(), rows, waiting);
    if (left.length !== this.kept.peek().length) this.kept.value = left;
  }

  #changed(row: SessionRow): void {
    const before = this.info.peek();
    this.info.value = row;
    // Another conversation under the same key: its mark, and what came before, are read anew.
    if (before && before.sessionId !== row.sessionId) void this.#read();
    else if (!row.hasActiveRun) this.#soon();
  }
}
