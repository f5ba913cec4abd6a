// A list of any length of which only what can be seen is on the page. Heights are measured as rows appear; what is
// above keeps its place when they turn out otherwise, and the end stays in sight while it grows.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

const GUESS = 96;
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

export function VirtualList<T extends { id: string }>({ items, render, reachStart, target, label }: Props<T>) {
  const host = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const held = useRef<{ id: string; offset: number } | "end">("end");
  const own = useRef(0);
  const [view, setView] = useState({ top: 0, height: 800 });
  const [measured, remeasure] = useState(0);
  const [behind, setBehind] = useState(false);
  const offsets = useMemo(() => offsetsOf(items, heights.current), [items, measured]);
  const first = indexAt(offsets.starts, Math.max(0, view.top - BEYOND));
  const last = indexAt(offsets.starts, view.top + view.height + BEYOND);

  const observer = useMemo(
    () =>
      new ResizeObserver((entries) => {
        let changed = false;
        for (const entry of entries) {
          const id = (entry.target as HTMLElement).dataset["id"];
          const height = entry.borderBoxSize[0]?.blockSize ?? 0;
          if (id && height > 0 && heights.current.get(id) !== height) {
            heights.current.set(id, height);
            changed = true;
          }
        }
        if (changed) remeasure((count) => count + 1);
      }),
    [],
  );
  useEffect(() => () => observer.disconnect(), [observer]);

  /** Whether a row on the page had no height yet; it has one then. */
  const unknown = (box: HTMLElement): boolean => {
    let found = false;
    for (const row of box.children) {
      const id = (row as HTMLElement).dataset["id"];
      if (!id || heights.current.has(id)) continue;
      const height = row.getBoundingClientRect().height;
      if (height <= 0) continue;
      heights.current.set(id, height);
      found = true;
    }
    return found;
  };

  const place = (wanted: number): void => {
    const box = host.current;
    if (!box) return;
    const top = Math.max(0, Math.min(wanted, box.scrollHeight - box.clientHeight));
    if (Math.abs(box.scrollTop - top) >= 1) {
      box.scrollTop = top;
      own.current = box.scrollTop;
    }
    // Also where the browser has moved it: what is drawn follows from where it stands.
    if (Math.abs(view.top - box.scrollTop) >= 1) setView({ top: box.scrollTop, height: box.clientHeight });
  };

  // Keep what is held where it is, whatever became of the heights above it.
  useLayoutEffect(() => {
    const box = host.current;
    if (!box) return;
    // A row that is drawn by a guess must not leave by one: it is measured first, and drawn with what was found.
    if (unknown(box)) return remeasure((count) => count + 1);
    const hold = held.current;
    if (hold === "end") return place(box.scrollHeight - box.clientHeight);
    const index = items.findIndex((item) => item.id === hold.id);
    if (index >= 0) place((offsets.starts[index] ?? 0) - hold.offset);
  });

  useEffect(() => {
    if (!target) return;
    const index = items.findIndex((item) => item.id === target);
    if (index < 0) return;
    held.current = { id: target, offset: 80 };
    remeasure((count) => count + 1);
  }, [target, target !== undefined && items.some((item) => item.id === target)]);

  const scrolled = (): void => {
    const box = host.current;
    if (!box) return;
    const top = box.scrollTop;
    if (Math.abs(top - own.current) >= 1 || held.current === "end") {
      const end = box.scrollHeight - box.clientHeight - top < NEAR_END;
      const index = indexAt(offsets.starts, top);
      const item = items[index];
      held.current = end || !item ? "end" : { id: item.id, offset: (offsets.starts[index] ?? 0) - top };
      setBehind(!end);
    }
    own.current = top;
    setView({ top, height: box.clientHeight });
    if (top < NEAR_START) reachStart?.();
  };

  useEffect(() => {
    const box = host.current;
    if (!box) return;
    const resized = new ResizeObserver(() => setView({ top: box.scrollTop, height: box.clientHeight }));
    resized.observe(box);
    return () => resized.disconnect();
  }, []);

  const measure = (element: HTMLElement | null): void => {
    if (element) observer.observe(element);
  };
  const shown = items.slice(first, last + 1);
  const above = offsets.starts[first] ?? 0;
  const below = offsets.total - (offsets.starts[last] ?? 0) - (items[last] ? (heights.current.get(items[last].id) ?? GUESS) : 0);
  return (
    <div class="list-frame">
      <div class="list" ref={host} onScroll={scrolled} tabIndex={0} role="log" aria-label={label} aria-live="polite" aria-relevant="additions">
        <div style={{ height: `${above}px` }} />
        {shown.map((item, index) => (
          <div class="list-item" key={item.id} data-id={item.id} ref={measure}>
            {render(item, first + index)}
          </div>
        ))}
        <div style={{ height: `${Math.max(0, below)}px` }} />
      </div>
      {behind && (
        <button
          type="button"
          class="to-end"
          onClick={() => {
            held.current = "end";
            setBehind(false);
            remeasure((count) => count + 1);
          }}
        >
          Newest ↓
        </button>
      )}
    </div>
  );
}
