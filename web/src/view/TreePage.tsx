// Who spawned whom, as a picture that moves with them.

import { useEffect, useMemo, useState } from "preact/hooks";
import { may } from "../state/gateway";
import { hrefOf, place } from "../state/route";
import { stop } from "../state/sessions";
import { type Exchange, Family, flat } from "../state/tree";
import { call } from "../state/gateway";
import { type TreeRow, titleOf } from "../wire/shapes";
import { ask, attempt } from "./dialogs";
import { SidebarButton } from "./Head";
import { Icon } from "./icons";
import { State } from "./Sidebar";
import { costOf, countOf, lengthOf } from "./words";

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
            {all.length} sessions, {working} working · {countOf(sum(all, "totalTokens"))} tokens · {costOf(sum(all, "estimatedCostUsd"))}
          </p>
        </div>
      </header>
      <div class="page-body" tabIndex={0} role="region" aria-label="Tree">
        {family.problem.value && <p class="quiet">{family.problem.value}</p>}
        {tree && (
          <ul class="tree">
            <Branch row={tree} />
          </ul>
        )}
        {tree && tree.children.length === 0 && (
          <p class="quiet">This session has spawned nobody. Ask its agent to “spawn a helper to …”, and helpers appear here while they work.</p>
        )}
        {family.exchanges.value.length > 0 && <Exchanges all={family.exchanges.value} />}
      </div>
    </div>
  );
}

const sum = (rows: TreeRow[], field: "totalTokens" | "estimatedCostUsd"): number => rows.reduce((total, row) => total + row[field], 0);

function Branch({ row }: { row: TreeRow }) {
  const at = place.value;
  const here = at.at === "tree" && at.key === row.key;
  return (
    <li>
      <div class={here ? "node here" : "node"}>
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
      await attempt(() => call("chat.send", { sessionKey: row.key, message: text.trim(), idempotencyKey: crypto.randomUUID() }), "Said");
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
            <a href={hrefOf({ at: "chat", key: one.requester })}>{one.requester}</a> → <a href={hrefOf({ at: "chat", key: one.target })}>{one.target}</a>
            <span class={`badge ${one.state}`}>{one.state}</span>
            {one.request && <span class="quiet">{one.request}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
