// Sessions, by agent and channel, and what can be found in them.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { mainKey, may } from "../state/gateway";
import { isUnread, type Theme, theme } from "../state/kept";
import { go, hrefOf, place } from "../state/route";
import { agents, channelOf, create, grouped, loaded, matching, searchNames, searchWords, sessions } from "../state/sessions";
import { type Hit, type SessionRow, titleOf } from "../wire/shapes";
import { ask, attempt } from "./dialogs";
import { Icon } from "./icons";
import { Marked, around } from "./Marked";
import { Menu } from "./Menu";
import { actionsOf } from "./sessionActions";
import { agoOf } from "./words";

const TYPING_MS = 200;
const CHILDREN_SHOWN = 4;
const archivedShown = signal(false);
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const LOOK = { system: "system", light: "sun", dark: "moon" } as const;

export function Sidebar() {
  const [words, setWords] = useState("");
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const keyed = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key === "k") {
        event.preventDefault();
        search.current?.focus();
      }
    };
    window.addEventListener("keydown", keyed);
    return () => window.removeEventListener("keydown", keyed);
  }, []);
  return (
    <aside class="sidebar" aria-label="Sessions">
      <div class="row brand">
        <img src="/favicon.svg" alt="" width="26" height="26" />
        <strong>Roost</strong>
        <span class="grow" />
        <button type="button" class="quiet-button" title={`Colours: ${theme.value}`} aria-label={`Colours: ${theme.value}`} onClick={() => (theme.value = NEXT[theme.value])}>
          <Icon name={LOOK[theme.value]} />
        </button>
        {may("write") && <NewSession />}
      </div>
      <div class="search">
        <Icon name="search" />
        <input
          ref={search}
          type="search"
          placeholder="Search (Ctrl K)"
          aria-label="Search sessions and messages"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Escape" && setWords("")}
        />
      </div>
      <nav aria-label="Sessions" class="sessions">
        {words.trim() ? <Found words={words.trim()} /> : <All />}
      </nav>
      <Places />
    </aside>
  );
}

function NewSession() {
  const begin = async (): Promise<void> => {
    const known = agents.value;
    const first = known[0]?.id ?? "main";
    const chosen =
      known.length < 2 ? first : await ask({ title: "New session", action: "Open", input: { label: `Agent: ${known.map((agent) => agent.id).join(", ")}`, value: first } });
    if (chosen !== null) go({ at: "chat", key: await create(chosen.trim()) });
  };
  return (
    <button type="button" class="quiet-button" title="New session" aria-label="New session" onClick={() => void attempt(begin)}>
      <Icon name="plus" />
    </button>
  );
}

function All() {
  const rows = [...sessions.value.values()];
  const hidden = rows.filter((row) => row.archived);
  const { pinned, groups } = grouped(rows.filter((row) => !row.archived));
  if (!loaded.value) return <p class="quiet pad">Reading…</p>;
  return (
    <>
      {rows.length === 0 && (
        <p class="quiet pad">
          No sessions yet. The first message opens one: <a href={hrefOf({ at: "chat", key: mainKey.value })}>say hello</a>.
        </p>
      )}
      {pinned.length > 0 && <Rows title="Pinned" rows={pinned} />}
      {groups.map((group) => (
        <Rows key={`${group.agent} ${group.channel}`} title={group.channel === "direct" ? group.agent : `${group.agent} · ${group.channel}`} rows={group.rows} />
      ))}
      {hidden.length > 0 && (
        <button type="button" class="link pad" aria-expanded={archivedShown.value} onClick={() => (archivedShown.value = !archivedShown.value)}>
          {archivedShown.value ? "Hide" : "Show"} {hidden.length} archived
        </button>
      )}
      {archivedShown.value && hidden.length > 0 && <Rows title="Archived" rows={hidden} />}
    </>
  );
}

/** Children come in crowds: the first of them, and those that work, stand for the rest. */
function Rows({ title, rows }: { title: string; rows: SessionRow[] }) {
  const [all, showAll] = useState(false);
  const children = rows.every((row) => row.parentSessionKey);
  const shown = all || !children ? rows : rows.filter((row, index) => index < CHILDREN_SHOWN || row.hasActiveRun);
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {shown.map((row) => (
          <Row key={row.key} row={row} />
        ))}
      </ul>
      {shown.length < rows.length && (
        <button type="button" class="link pad" onClick={() => showAll(true)}>
          Show {rows.length - shown.length} more
        </button>
      )}
    </section>
  );
}

function Row({ row }: { row: SessionRow }) {
  const at = place.value;
  const here = at.at === "chat" && (at.key || mainKey.value) === row.key;
  const unread = isUnread(row) && !here;
  return (
    <li class={here ? "session here" : "session"}>
      <a href={hrefOf({ at: "chat", key: row.key })} aria-current={here ? "page" : undefined}>
        <span class="row">
          <State row={row} />
          <span class={unread ? "title unread" : "title"}>{titleOf(row)}</span>
          <time class="quiet">{agoOf(row.updatedAt)}</time>
        </span>
        {row.lastMessagePreview && <span class="preview">{row.lastMessagePreview}</span>}
        {unread && <span class="hidden">unread</span>}
      </a>
      <Menu label={`Actions for ${titleOf(row)}`} actions={actionsOf(row)} />
    </li>
  );
}

export function State({ row }: { row: SessionRow }) {
  const state = row.hasActiveRun ? (row.status ?? "running") : (row.status ?? "idle");
  return <span class={`state ${state}`} title={state} role="img" aria-label={state} />;
}

function Found({ words }: { words: string }) {
  const [hits, setHits] = useState<Hit[] | null>(null);
  useEffect(() => {
    let wanted = true;
    const timer = window.setTimeout(() => {
      void attempt(async () => {
        const [, found] = await Promise.all([searchNames(words), searchWords(words)]);
        if (wanted) setHits(found);
      });
    }, TYPING_MS);
    return () => {
      wanted = false;
      window.clearTimeout(timer);
    };
  }, [words]);
  const rows = [...sessions.value.values()].filter((row) => matching(row, words));
  return (
    <>
      {rows.length > 0 && <Rows title="Sessions" rows={rows.slice(0, 12)} />}
      <section>
        <h2>Messages</h2>
        {hits === null && <p class="quiet pad">Searching…</p>}
        {hits?.length === 0 && <p class="quiet pad">Nothing that was said holds all of these words. A phrase stands in "double quotes".</p>}
        <ul>
          {hits?.map((hit) => (
            <li class="session" key={hit.messageId}>
              <a href={hrefOf({ at: "chat", key: hit.key, message: hit.messageId })}>
                <span class="row">
                  <span class="title">{nameOf(hit.key)}</span>
                  <time class="quiet">{agoOf(hit.timestamp)}</time>
                </span>
                <span class="preview hit">
                  <Marked text={around(hit.snippet, words)} words={words} />
                </span>
              </a>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

function nameOf(key: string): string {
  const row = sessions.value.get(key);
  return row ? `${titleOf(row)} · ${channelOf(row)}` : key;
}

function Places() {
  const at = place.value;
  const key = at.at === "operations" ? mainKey.value : at.key || mainKey.value;
  return (
    <nav class="places" aria-label="Places">
      <a href={hrefOf({ at: "chat", key })} aria-current={at.at === "chat" ? "page" : undefined}>
        <Icon name="chat" /> Chat
      </a>
      <a href={hrefOf({ at: "tree", key })} aria-current={at.at === "tree" ? "page" : undefined}>
        <Icon name="tree" /> Tree
      </a>
      <a href={hrefOf({ at: "operations", part: "runs" })} aria-current={at.at === "operations" ? "page" : undefined}>
        <Icon name="chart" /> Operations
      </a>
    </nav>
  );
}
