// What is heard of a session while it is being read: newer than what the reading finds.

import type { MessageRow } from "../wire/shapes";
import { type Speaking, merged } from "./items";

interface Run {
  runId: string;
  text: string;
}

/** Those under way, oldest first: each hears what comes meanwhile. */
export class Readings {
  readonly #all = new Set<Meanwhile>();

  begin(): Meanwhile {
    const one = new Meanwhile();
    this.#all.add(one);
    return one;
  }

  end(one: Meanwhile): void {
    this.#all.delete(one);
  }

  /** Whether what it found may be shown: not if one that began later was faster. Those that began before it are too late. */
  overtake(one: Meanwhile): boolean {
    if (!this.#all.has(one)) return false;
    for (const older of this.#all) {
      if (older === one) break;
      this.#all.delete(older);
    }
    return true;
  }

  stored(rows: readonly MessageRow[]): void {
    for (const one of this.#all) one.stored(rows);
  }

  spoke(run: string): void {
    for (const one of this.#all) one.spoke(run);
  }

  ended(run: string): void {
    for (const one of this.#all) one.ended(run);
  }
}

export class Meanwhile {
  readonly #rows: MessageRow[] = [];
  readonly #spoke = new Set<string>();
  readonly #ended = new Set<string>();

  stored(rows: readonly MessageRow[]): void {
    this.#rows.push(...rows);
  }

  spoke(run: string): void {
    this.#spoke.add(run);
  }

  ended(run: string): void {
    this.#ended.add(run);
  }

  /** What was found, and what came after it. Of what was known before, only what is older stays. */
  rows(known: readonly MessageRow[], found: readonly MessageRow[]): MessageRow[] {
    const first = known.findIndex((row) => row.__openclaw.id === found[0]?.__openclaw.id);
    return merged([...known.slice(0, Math.max(first, 0)), ...found], this.#rows);
  }

  /** Who speaks: what was heard counts more than what was found, and who has ended says no more. */
  speaking(heard: Speaking | null, found: Run | undefined): Speaking | null {
    if (heard && this.#spoke.has(heard.id) && !this.#ended.has(heard.id)) return heard;
    if (!found || this.#ended.has(found.runId)) return null;
    // What was found of an answer that is stored by now is told by its row.
    const told = this.#rows.some((row) => row.role === "assistant");
    return { kind: "speaking", id: found.runId, text: told ? "" : found.text, thinking: "", tools: [] };
  }
}
