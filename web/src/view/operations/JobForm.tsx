// A job as a person writes it down.

import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../../state/gateway";
import { agents, sessions } from "../../state/sessions";
import { titleOf } from "../../wire/shapes";
import { tell } from "../dialogs";
import { type Wish, scheduleOf, wishOf } from "../schedules";
import { type Delivery, type Job, type Payload, wordsOf } from "./jobs";
import { Field, When } from "./When";

const MOST_SESSIONS = 50;

interface Draft {
  name: string;
  wish: Wish;
  turn: boolean;
  text: string;
  agent: string;
  target: string;
  telling: "none" | "last" | "chat" | "webhook";
  channel: string;
  to: string;
  missed: string;
  overlap: string;
  forget: boolean;
}

function draftOf(job: Job | null): Draft {
  const told = job?.delivery;
  const last = told?.mode === "announce" && !told.to;
  return {
    name: job?.name ?? "",
    wish: wishOf(job?.schedule),
    turn: job?.payload.kind !== "systemEvent",
    text: job ? wordsOf(job.payload) : "",
    agent: job?.agentId ?? agents.value[0]?.id ?? "main",
    target: job?.sessionTarget ?? "isolated",
    telling: !told || told.mode === "none" ? "none" : told.mode === "webhook" ? "webhook" : last ? "last" : "chat",
    channel: told?.mode === "announce" && !last ? (told.channel ?? "") : "",
    to: told?.to ?? "",
    missed: job?.missed ?? "once",
    overlap: job?.overlap ?? "skip",
    forget: job?.deleteAfterRun ?? false,
  };
}

function paramsOf(draft: Draft, job: Job | null): object {
  const schedule = JSON.stringify(draft.wish) === JSON.stringify(wishOf(job?.schedule)) && job ? {} : { schedule: scheduleOf(draft.wish) };
  return {
    name: draft.name.trim(),
    agentId: draft.agent,
    ...schedule,
    payload: payloadOf(draft, job),
    sessionTarget: draft.target,
    delivery: deliveryOf(draft, job),
    missed: draft.missed,
    overlap: draft.overlap,
    deleteAfterRun: draft.forget,
    ...(job ? { wakeMode: job.wakeMode } : {}),
  };
}

/** What the form does not ask for stays as it was. */
function payloadOf(draft: Draft, job: Job | null): Payload {
  if (!draft.turn) return { kind: "systemEvent", text: draft.text };
  return { ...(job?.payload.kind === "agentTurn" ? job.payload : {}), kind: "agentTurn", message: draft.text };
}

function deliveryOf(draft: Draft, job: Job | null): Delivery {
  switch (draft.telling) {
    case "none":
      return { mode: "none" };
    case "last":
      return { mode: "announce", channel: "last" };
    case "webhook":
      return { mode: "webhook", to: draft.to.trim() };
    case "chat": {
      const channel = draft.channel.trim();
      const to = draft.to.trim();
      const same = job?.delivery.mode === "announce" && job.delivery.channel === channel && job.delivery.to === to;
      return same ? job.delivery : { mode: "announce", channel, to };
    }
  }
}

export function JobForm({ job, close }: { job: Job | null; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [draft, setDraft] = useState(() => draftOf(job));
  const [problem, setProblem] = useState<string | null>(null);
  const put = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  useEffect(() => dialog.current?.showModal(), []);
  const save = async (): Promise<void> => {
    try {
      const params = paramsOf(draft, job);
      await (job ? call("cron.update", { id: job.id, patch: params }) : call("cron.add", params));
      tell(job ? "Changed" : "Added");
      close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <dialog ref={dialog} class="wide" onClose={close} aria-labelledby="job-title">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <h2 id="job-title">{job ? `Edit “${job.name}”` : "New job"}</h2>
        <Field label="Name">
          {(id) => <input id={id} required maxLength={200} autofocus value={draft.name} onInput={(event) => put({ name: event.currentTarget.value })} />}
        </Field>
        <When wish={draft.wish} put={(wish) => put({ wish })} />
        <Field label={draft.turn ? "What the agent is asked" : "What it finds at its next turn"}>
          {(id) => <textarea id={id} required rows={3} value={draft.text} onInput={(event) => put({ text: event.currentTarget.value })} />}
        </Field>
        <Whereabouts draft={draft} put={put} />
        <Telling draft={draft} put={put} />
        <Rarely draft={draft} put={put} />
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="row end">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="primary">
            {job ? "Save" : "Add"}
          </button>
        </div>
      </form>
    </dialog>
  );
}

interface PartProps {
  draft: Draft;
  put(change: Partial<Draft>): void;
}

function Whereabouts({ draft, put }: PartProps) {
  const known = [...sessions.value.values()].filter((row) => !row.parentSessionKey && !row.archived && !row.isMain).slice(0, MOST_SESSIONS);
  const targets = new Map(known.map((row) => [`session:${row.key}`, `“${titleOf(row)}”`]));
  if (draft.target.startsWith("session:") && !targets.has(draft.target)) targets.set(draft.target, draft.target.slice("session:".length));
  return (
    <fieldset class="fields">
      <Field label="As">
        {(id) => (
          <select id={id}
            value={draft.turn ? "turn" : "event"}
            onChange={(event) => {
              const turn = event.currentTarget.value === "turn";
              put({ turn, ...(!turn && draft.target === "isolated" ? { target: "main" } : {}) });
            }}
          >
            <option value="turn">a turn of its own</option>
            <option value="event">a note for the next turn</option>
          </select>
        )}
      </Field>
      <Field label="In">
        {(id) => (
          <select id={id} value={draft.target} onChange={(event) => put({ target: event.currentTarget.value })}>
            {draft.turn && <option value="isolated">a session of its own</option>}
            <option value="main">the main session</option>
            {[...targets].map(([target, title]) => (
              <option key={target} value={target}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Field>
      {agents.value.length > 1 && (
        <Field label="Agent">
          {(id) => (
            <select id={id} value={draft.agent} onChange={(event) => put({ agent: event.currentTarget.value })}>
              {agents.value.map((agent) => (
                <option key={agent.id} value={agent.id}>
                  {agent.name ?? agent.id}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
    </fieldset>
  );
}

function Telling({ draft, put }: PartProps) {
  return (
    <fieldset class="fields">
      <Field label="What it says goes to">
        {(id) => (
          <select id={id} value={draft.telling} onChange={(event) => put({ telling: event.currentTarget.value as Draft["telling"] })}>
            <option value="none">nobody: it stays in the session</option>
            <option value="last">the last chat</option>
            <option value="chat">a chat</option>
            <option value="webhook">a web address</option>
          </select>
        )}
      </Field>
      {draft.telling === "chat" && (
        <>
          <Field label="Channel">
            {(id) => <input id={id} required value={draft.channel} onInput={(event) => put({ channel: event.currentTarget.value })} />}
          </Field>
          <Field label="Place">
            {(id) => <input id={id} required value={draft.to} onInput={(event) => put({ to: event.currentTarget.value })} />}
          </Field>
        </>
      )}
      {draft.telling === "webhook" && (
        <Field label="Address">
          {(id) => <input id={id} required type="url" placeholder="https://" value={draft.to} onInput={(event) => put({ to: event.currentTarget.value })} />}
        </Field>
      )}
    </fieldset>
  );
}

function Rarely({ draft, put }: PartProps) {
  return (
    <details class="rarely">
      <summary>When something comes between</summary>
      <fieldset class="fields">
        <Field label="Missed times">
          {(id) => (
            <select id={id} value={draft.missed} onChange={(event) => put({ missed: event.currentTarget.value })}>
              <option value="once">are made up for by one run</option>
              <option value="skip">are left out</option>
            </select>
          )}
        </Field>
        <Field label="While the last still runs">
          {(id) => (
            <select id={id} value={draft.overlap} onChange={(event) => put({ overlap: event.currentTarget.value })}>
              <option value="skip">a time is left out</option>
              <option value="wait">a time waits</option>
            </select>
          )}
        </Field>
      </fieldset>
      <label class="row inline">
        <input type="checkbox" checked={draft.forget} onChange={(event) => put({ forget: event.currentTarget.checked })} />
        Delete it once it went well
      </label>
    </details>
  );
}
