// A session with all that was spawned below it, as it changes.

import { batch, computed, signal } from "@preact/signals";
import type { SessionRow, TreeRow } from "../wire/shapes";
import { call, has, on, whenever } from "./gateway";

const CALM_MS = 250;

export interface Exchange {
  id: string;
  requester: string;
  target: string;
  phase: string;
  state: string;
  createdAt: number;
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
        const known = this.#rows.has(told.sessionKey);
        if (told.session && known) this.#put(told.session);
        if (known || told.sessionKey === this.key || (parent && this.#rows.has(parent))) this.#soon(CALM_MS);
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

  /** Many changes at once are read once, and what changes without end is read again and again. */
  #soon(delay: number): void {
    this.#timer ||= window.setTimeout(() => {
      this.#timer = 0;
      void this.#read();
    }, delay);
  }

  async #read(): Promise<void> {
    try {
      const top = await this.#top(this.key);
      const { tree } = await call<{ tree: TreeRow }>("sessions.tree", { key: top });
      const told = has("sessions.exchanges") ? await call<{ exchanges: Exchange[] }>("sessions.exchanges", { key: top, tree: true }) : { exchanges: [] };
      this.#rows = new Map(flat(tree).map((row) => [row.key, row]));
      batch(() => {
        this.root.value = tree;
        this.exchanges.value = told.exchanges;
      });
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

/** All that went one way between two sessions; `newest` says how far the last of it is. */
export interface Edge {
  from: string;
  to: string;
  count: number;
  newest: Exchange;
}

export function edgesOf(exchanges: readonly Exchange[]): Edge[] {
  const pairs = Map.groupBy(exchanges, (one) => `${one.requester}\n${one.target}`);
  return [...pairs.values()].flatMap((all) => {
    const [newest] = all;
    return newest ? [{ from: newest.requester, to: newest.target, count: all.length, newest }] : [];
  });
}

export const flat = (row: TreeRow): TreeRow[] => [row, ...row.children.flatMap(flat)];
const sizeOf = (row: TreeRow): number => flat(row).length;

function replaced(row: TreeRow, next: SessionRow): TreeRow {
  const own = row.key === next.key ? { ...row, ...next } : row;
  return { ...own, children: own.children.map((child) => replaced(child, next)) };
}
