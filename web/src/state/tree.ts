// A session with all that was spawned below it, as it changes.

import { computed, signal } from "@preact/signals";
import type { SessionRow, TreeRow } from "../wire/shapes";
import { call, has, on, whenever } from "./gateway";

const CALM_MS = 250;

export interface Exchange {
  id: string;
  requester: string;
  target: string;
  phase: string;
  state: string;
  turn: number;
  request?: string;
}

export class Family {
  readonly root = signal<TreeRow | null>(null);
  readonly exchanges = signal<Exchange[]>([]);
  readonly problem = signal<string | null>(null);
  readonly size = computed(() => (this.root.value ? sizeOf(this.root.value) : 0));
  #ends: (() => void)[];
  #timer = 0;
  #rows = new Map<string, SessionRow>();

  constructor(private readonly key: string) {
    this.#ends = [
      whenever(() => this.#soon(0)),
      on<{ sessionKey: string; session?: SessionRow }>("sessions.changed", (told) => {
        const parent = told.session?.parentSessionKey;
        if (told.session && this.#rows.has(told.sessionKey)) this.#put(told.session);
        else if (told.sessionKey === this.key || (parent && this.#rows.has(parent))) this.#soon(CALM_MS);
      }),
    ];
  }

  close(): void {
    window.clearTimeout(this.#timer);
    for (const end of this.#ends) end();
  }

  #put(row: SessionRow): void {
    const root = this.root.peek();
    if (root) this.root.value = replaced(root, row);
  }

  /** Many children at once are read once. */
  #soon(delay: number): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#read(), delay);
  }

  async #read(): Promise<void> {
    try {
      const top = await this.#top(this.key);
      const { tree } = await call<{ tree: TreeRow }>("sessions.tree", { key: top });
      this.#rows = new Map(flat(tree).map((row) => [row.key, row]));
      this.root.value = tree;
      if (has("sessions.exchanges")) this.exchanges.value = (await call<{ exchanges: Exchange[] }>("sessions.exchanges", { key: this.key })).exchanges;
      this.problem.value = null;
    } catch (error) {
      this.problem.value = error instanceof Error ? error.message : String(error);
    }
  }

  async #top(key: string): Promise<string> {
    const { session } = await call<{ session: SessionRow | null }>("sessions.describe", { key });
    return session?.parentSessionKey ? this.#top(session.parentSessionKey) : key;
  }
}

export const flat = (row: TreeRow): TreeRow[] => [row, ...row.children.flatMap(flat)];
const sizeOf = (row: TreeRow): number => flat(row).length;

function replaced(row: TreeRow, next: SessionRow): TreeRow {
  const own = row.key === next.key ? { ...row, ...next } : row;
  return { ...own, children: own.children.map((child) => replaced(child, next)) };
}
