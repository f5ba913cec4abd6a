// Who spawned whom, as a picture that moves with them.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, may } from "../state/gateway";
import { newName } from "../state/outgoing";
import { hrefOf, place } from "../state/route";
import { nameOf, sessions, stop } from "../state/sessions";
import { type Edge, type Exchange, Family, edgesOf, flat } from "../state/tree";
import { type TreeRow, titleOf } from "../wire/shapes";
import { ask, attempt } from "./dialogs";
import { Edges } from "./Edges";
import { SidebarButton } from "./Head";
import { Icon } from "./icons";
import { State } from "./Sidebar";
import { agoOf, costOf, countOf, lengthOf } from "./words";

const SECOND = 1_000;

export function TreePage({ root }: { root: string }) {
  const family = useMemo(() => new Family(root), [root]);
  useEffect(() => () => family.close(), [family]);
  const tree = family.root.value;
  const all = tree ? flat(tree) : [];
  const working = all.filter((row) => row.hasActiveRun).length;
  return (
    <div class="page">
      <header class="head">
        <SidebarButton />
        <div class="names">
          <h1>Tree</h1>
          <p class="quiet" role="status">
            {all.length === 1 ? "1 session" : `${all.length} sessions`}, {working} working · {countOf(sum(all, "totalTokens"))} tokens · {costOf(sum(all, "estimatedCostUsd"))}
          </p>
        </div>
      </header>
      <div class="page-body" tabIndex={0} role="region" aria-label="Tree">
        {family.problem.value && <p class="quiet">{family.problem.value}</p>}
        {tree && <Picture tree={tree} edges={edgesOf(family.exchanges.value)} />}
        {tree && tree.children.length === 0 && (
          <p class="quiet">This session has spawned nobody. Ask its agent to “spawn a helper to …”, and helpers appear here while they work.</p>
        )}
        {family.exchanges.value.length > 0 && <Exchanges all={family.exchanges.value} />}
      </div>
    </div>
  );
}

/** The tree, whom its sessions speak with beyond it, and what went between them. */
function Picture({ tree, edges }: { tree: TreeRow; edges: Edge[] }) {
  const host = useRef<HTMLDivElement>(null);
  const inside = new Set(flat(tree).map((row) => row.key));
  const beyond = [...new Set(edges.flatMap((edge) => [edge.from, edge.to]))].filter((key) => !inside.has(key));
  return (
    <div class={edges.length > 0 ? "picture linked" : "picture"} ref={host}>
      <ul class="tree">
        <Branch row={tree} />
      </ul>
      {beyond.length > 0 && (
        <>
          <h2>Spoken with</h2>
          <ul class="tree" aria-label="Spoken with">
            {beyond.map((key) => (
              <Other key={key} session={key} />
            ))}
          </ul>
        </>
      )}
      <Edges edges={edges} host={host} />
    </div>
  );
}

function Other({ session }: { session: string }) {
  const row = sessions.value.get(session);
  return (
    <li>
      <div class="node" data-key={session}>
        <a href={hrefOf({ at: "chat", key: session })}>
          <span class="row">
            {row && <State row={row} />}
            <strong class="title">{nameOf(session)}</strong>
          </span>
          {row?.agentId && <span class="quiet figures">{row.agentId}</span>}
        </a>
      </div>
    </li>
  );
}

const sum = (rows: TreeRow[], field: "totalTokens" | "estimatedCostUsd"): number => rows.reduce((total, row) => total + row[field], 0);

function Branch({ row }: { row: TreeRow }) {
  const at = place.value;
  const here = at.at === "tree" && at.key === row.key;
  return (
    <li>
      <div class={here ? "node here" : "node"} data-key={row.key}>
        <a href={hrefOf({ at: "chat", key: row.key })}>
          <span class="row">
            <State row={row} />
            <strong class="title">{titleOf(row)}</strong>
          </span>
          <span class="quiet figures">
            {row.agentId} · <Runtime row={row} /> · {countOf(row.totalTokens)} tokens · {costOf(row.estimatedCostUsd)}
          </span>
        </a>
        {row.hasActiveRun && may("write") && <Steering row={row} />}
      </div>
      {row.children.length > 0 && (
        <ul>
          {row.children.map((child) => (
            <Branch key={child.key} row={child} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Runtime({ row }: { row: TreeRow }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!row.hasActiveRun) return;
    const timer = window.setInterval(() => setNow(Date.now()), SECOND);
    return () => window.clearInterval(timer);
  }, [row.hasActiveRun]);
  return <span>{lengthOf((row.hasActiveRun ? Math.max(now, row.updatedAt) : row.updatedAt) - row.createdAt)}</span>;
}

function Steering({ row }: { row: TreeRow }) {
  const steer = async (): Promise<void> => {
    const text = await ask({ title: `Steer “${titleOf(row)}”`, action: "Say it", input: { label: "What it hears at its next step", value: "" } });
    if (text?.trim()) {
      await attempt(() => call("chat.send", { sessionKey: row.key, message: text.trim(), idempotencyKey: newName() }), "Said");
    }
  };
  return (
    <span class="actions">
      <button type="button" class="quiet-button small" aria-label={`Steer ${titleOf(row)}`} title="Steer" onClick={() => void steer()}>
        <Icon name="send" />
      </button>
      <button type="button" class="quiet-button small danger-text" aria-label={`Stop ${titleOf(row)}`} title="Stop" onClick={() => void attempt(() => stop(row.key), "Stopped")}>
        <Icon name="stop" />
      </button>
    </span>
  );
}

function Exchanges({ all }: { all: Exchange[] }) {
  return (
    <section class="exchanges">
      <h2>Exchanges between sessions</h2>
      <ul>
        {all.map((one) => (
          <li key={one.id}>
            <span class={`badge ${one.state}`}>{one.state}</span>
            <span>
              <a href={hrefOf({ at: "chat", key: one.requester })}>{nameOf(one.requester)}</a> → <a href={hrefOf({ at: "chat", key: one.target })}>{nameOf(one.target)}</a>
            </span>
            <span class="quiet said-line">{one.request}</span>
            <time class="quiet">{agoOf(one.createdAt)}</time>
          </li>
        ))}
      </ul>
    </section>
  );
}
