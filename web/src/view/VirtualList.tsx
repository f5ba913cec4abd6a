// A list of any length of which only what can be seen is on the page. What that is follows from where the view stands and
// from the heights of rows, which are measured as they appear: what is looked at keeps its place when they turn out
// otherwise, and the end stays in sight while it grows.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

const GUESS = 96;
const SAME = 0.1;
const BEYOND = 900;
const NEAR_END = 48;
const NEAR_START = 1_200;

interface Props<T extends { id: string }> {
  items: T[];
  render(item: T, index: number): ComponentChildren;
  /** Called when the beginning comes into sight. */
  reachStart?(): void;
  /** The item that is brought into sight once. */
  target?: string | undefined;
  label: string;
}

interface Offsets {
  starts: number[];
  total: number;
}

function offsetsOf(items: { id: string }[], heights: Map<string, number>): Offsets {
  const starts: number[] = [];
  let total = 0;
  for (const item of items) {
    starts.push(total);
    total += heights.get(item.id) ?? GUESS;
  }
  return { starts, total };
}

/** The last start that is not after a place. */
function indexAt(starts: number[], place: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Where the view stands: at the end, whatever comes there, or so far above a row. */
type Hold = { id: string; offset: number } | "end";

function holdOf(items: { id: string }[], starts: number[], place: number): Hold {
  const index = indexAt(starts, place);
  const item = items[index];
  return item ? { id: item.id, offset: (starts[index] ?? 0) - place } : "end";
}

export function VirtualList<T extends { id: string }>({ items, render, reachStart, target, label }: Props<T>) {
  const host = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const placed = useRef(0);
  const [hold, setHold] = useState<Hold>("end");
  const [height, setHeight] = useState(800);
  const [measured, remeasure] = useState(0);
  const offsets = useMemo(() => offsetsOf(items, heights.current), [items, measured]);
  const most = Math.max(0, offsets.total - height);
  const index = hold === "end" ? -1 : items.findIndex((item) => item.id === hold.id);
  const wanted = hold === "end" ? most : index < 0 ? placed.current : (offsets.starts[index] ?? 0) - hold.offset;
  const top = Math.max(0, Math.min(wanted, most));
  const first = indexAt(offsets.starts, Math.max(0, top - BEYOND));
  const last = indexAt(offsets.starts, top + height + BEYOND);
  const behind = hold !== "end" && most - top >= NEAR_END;

  const measure = (rows: Iterable<Element>): boolean => {
    let changed = false;
    for (const row of rows) {
      const id = (row as HTMLElement).dataset["id"];
      const height = row.getBoundingClientRect().height;
      if (!id || height <= 0 || Math.abs((heights.current.get(id) ?? 0) - height) < SAME) continue;
      heights.current.set(id, height);
      changed = true;
    }
    if (changed) remeasure((count) => count + 1);
    return changed;
  };
  // Rows also grow by themselves.
  const observer = useMemo(() => new ResizeObserver((entries) => measure(entries.map((entry) => entry.target))), []);
  useEffect(() => () => observer.disconnect(), [observer]);
  const observe = useMemo(
    () => (row: HTMLElement | null) => {
      if (row) observer.observe(row);
    },
    [observer],
  );

  // What is on the page is measured before anything is concluded from it: a row that is drawn by a guess must not leave by one.
  useLayoutEffect(() => {
    const box = host.current;
    if (!box) return;
    setHeight(box.clientHeight);
    const { starts } = measure(box.children) ? offsetsOf(items, heights.current) : offsets;
    const end = box.scrollHeight - box.clientHeight;
    const place = hold === "end" ? end : Math.max(0, Math.min(index < 0 ? top : (starts[index] ?? 0) - hold.offset, end));
    if (Math.abs(box.scrollTop - place) >= 1) box.scrollTop = place;
    placed.current = box.scrollTop;
    if (hold !== "end" && index < 0) setHold(holdOf(items, starts, box.scrollTop));
  });

  useEffect(() => {
    if (target && items.some((item) => item.id === target)) setHold({ id: target, offset: 80 });
  }, [target, target !== undefined && items.some((item) => item.id === target)]);

  const scrolled = (): void => {
    const box = host.current;
    if (!box) return;
    const place = box.scrollTop;
    const moved = place - placed.current;
    if (Math.abs(moved) >= 1) {
      const left = box.scrollHeight - box.clientHeight - place;
      placed.current = place;
      // Only who goes up leaves the end; that it has moved away does not.
      if (left < 2 || (moved > 0 && (hold === "end" || left < NEAR_END))) setHold("end");
      else setHold(holdOf(items, offsets.starts, place));
    }
    if (place < NEAR_START) reachStart?.();
  };

  useEffect(() => {
    const box = host.current;
    if (!box) return;
    const resized = new ResizeObserver(() => setHeight(box.clientHeight));
    resized.observe(box);
    return () => resized.disconnect();
  }, []);

  const shown = items.slice(first, last + 1);
  const above = offsets.starts[first] ?? 0;
  const below = offsets.total - (offsets.starts[last] ?? 0) - (items[last] ? (heights.current.get(items[last].id) ?? GUESS) : 0);
  return (
    <div class="list-frame">
      <div class="list" ref={host} onScroll={scrolled} tabIndex={0} role="log" aria-label={label} aria-live="polite" aria-relevant="additions">
        <div style={{ height: `${above}px` }} />
        {shown.map((item, index) => (
          <div class="list-item" key={item.id} data-id={item.id} ref={observe}>
            {render(item, first + index)}
          </div>
        ))}
        <div style={{ height: `${Math.max(0, below)}px` }} />
      </div>
      {behind && (
        <button type="button" class="to-end" onClick={() => setHold("end")}>
          Newest ↓
        </button>
      )}
    </div>
  );
}
