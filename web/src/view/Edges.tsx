// Who sent to whom, drawn between the nodes of a picture. For who cannot see it, the same is told in a list.

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { Edge } from "../state/tree";

const FIRST_BULGE = 34;
const LANE = 22;
const LANES = 4;
const APEX = 0.75;
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
  const from = boxOf(edge.from, host);
  const to = boxOf(edge.to, host);
  if (!from || !to) return [];
  const bulge = Math.max(from.x, to.x) + FIRST_BULGE + LANE * (index % LANES);
  // Lines that leave and lines that come do not meet on the edge of a node.
  const [begin, end] = [from.y - STEP, to.y + STEP];
  const state = edge.newest.state;
  return [
    {
      id: `${edge.from} ${edge.to}`,
      path: `M${from.x} ${begin}C${bulge} ${begin} ${bulge} ${end} ${to.x + 2} ${end}`,
      x: (1 - APEX) * ((from.x + to.x) / 2) + APEX * bulge,
      y: (begin + end) / 2,
      state,
      words: edge.count > 1 ? `${edge.count} × ${state}` : state,
    },
  ];
}

function boxOf(key: string, host: HTMLDivElement): { x: number; y: number } | null {
  const node = host.querySelector(`[data-key="${CSS.escape(key)}"]`)?.getBoundingClientRect();
  const frame = host.getBoundingClientRect();
  return node ? { x: node.right - frame.left, y: node.top + node.height / 2 - frame.top } : null;
}
