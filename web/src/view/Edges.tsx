// Who sent to whom, drawn between the nodes of a picture. For who cannot see it, the same is told in a list.

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { Edge } from "../state/tree";

const FIRST_LANE = 30;
const LANE = 22;
const LANES = 5;
const BEND = 10;
const STEP = 7;

interface Line {
  id: string;
  path: string;
  x: number;
  y: number;
  state: string;
  words: string;
}

export function Edges({ edges, host }: { edges: Edge[]; host: RefObject<HTMLDivElement | null> }) {
  const [lines, setLines] = useState<Line[]>([]);
  const draw = (): void => {
    const next = host.current ? edges.flatMap((edge, index) => lineOf(edge, index, host.current as HTMLDivElement)) : [];
    setLines((now) => (JSON.stringify(now) === JSON.stringify(next) ? now : next));
  };
  useLayoutEffect(draw);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(draw);
    if (host.current) watch.observe(host.current);
    return () => watch.disconnect();
  }, [edges]);
  return (
    <div class="edges" aria-hidden="true">
      <svg>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
            <path d="M0 0l8 4-8 4z" />
          </marker>
        </defs>
        {lines.map((line) => (
          <path key={line.id} class={`edge ${line.state}`} d={line.path} marker-end="url(#arrow)" />
        ))}
      </svg>
      {lines.map((line) => (
        <span key={line.id} class={`badge ${line.state}`} style={{ left: `${line.x}px`, top: `${line.y}px` }}>
          {line.words}
        </span>
      ))}
    </div>
  );
}

function lineOf(edge: Edge, index: number, host: HTMLDivElement): Line[] {
  const frame = host.getBoundingClientRect();
  const boxes = new Map([...host.querySelectorAll<HTMLElement>("[data-key]")].map((node) => [node.dataset["key"], node.getBoundingClientRect()]));
  const from = boxes.get(edge.from);
  const to = boxes.get(edge.to);
  if (!from || !to) return [];
  // Lines that leave and lines that come do not meet on the edge of a node.
  const begin = middleOf(from) - STEP;
  const end = middleOf(to) + STEP;
  const [high, low] = [Math.min(begin, end), Math.max(begin, end)];
  const passed = [...boxes.values()].filter((box) => box.bottom > high && box.top < low);
  const lane = Math.max(...passed.map((box) => box.right)) - frame.left + FIRST_LANE + LANE * (index % LANES);
  const turn = end > begin ? BEND : -BEND;
  const [y1, y2] = [begin - frame.top, end - frame.top];
  const state = edge.newest.state;
  return [
    {
      id: `${edge.from} ${edge.to}`,
      path: `M${from.right - frame.left} ${y1}H${lane - BEND}Q${lane} ${y1} ${lane} ${y1 + turn}V${y2 - turn}Q${lane} ${y2} ${lane - BEND} ${y2}H${to.right - frame.left + 2}`,
      x: lane,
      y: (y1 + y2) / 2,
      state,
      words: edge.count > 1 ? `${edge.count} × ${state}` : state,
    },
  ];
}

const middleOf = (box: DOMRect): number => box.top + box.height / 2;
