import { useEffect, useState } from "preact/hooks";
import { call, may, on } from "../../state/gateway";
import { hrefOf } from "../../state/route";
import { nameOf } from "../../state/sessions";
import { ask, attempt } from "../dialogs";
import { Icon } from "../icons";
import { inWords } from "../schedules";
import { lengthOf, untilOf, whenOf } from "../words";
import { Empty, Figure, Shown, useAsked } from "./asked";
import { JobForm } from "./JobForm";
import { type Firing, type Job, type Listed, wordsOf } from "./jobs";

const MOST = 200;
const SHOWN_FIRST = 10;

/** What agents do by a schedule: when next, what came of it, and how it is changed. */
export function Jobs() {
  const [words, setWords] = useState("");
  const [edited, edit] = useState<Job | "new" | null>(null);
  const asked = useAsked<Listed>("cron.list", { includeDisabled: true, limit: MOST, ...(words.trim() ? { query: words.trim() } : {}) });
  const standing = useAsked<{ enabled: boolean; nextWakeAtMs: number | null }>("cron.status");
  useEffect(() => on("cron", asked.again), [words]);
  const again = (): void => {
    asked.again();
    standing.again();
  };
  return (
    <Shown asked={asked}>
      {(found) => (
        <>
          <Figures jobs={found.jobs} next={standing.value?.nextWakeAtMs ?? null} />
          {standing.value?.enabled === false && (
            <p class="problem">
              Jobs are switched off: none of them runs. <code>roost config set cron.enabled true</code> lets them.
            </p>
          )}
          <div class="row">
            <input class="grow" type="search" placeholder="Filter jobs" aria-label="Filter jobs" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
            {may("admin") && (
              <button type="button" class="primary" onClick={() => edit("new")}>
                <Icon name="plus" />
                New job
              </button>
            )}
          </div>
          {found.jobs.length === 0 && (
            <Empty>
              {words
                ? "No job has these words in its name."
                : "No jobs yet. A job has an agent do something by itself: each morning, every hour, or once at a moment. Make one here, or tell your agent to."}
            </Empty>
          )}
          <ul class="cards">
            {found.jobs.map((job) => (
              <JobCard key={job.id} job={job} told={found.deliveryPreviews[job.id]} edit={edit} again={again} />
            ))}
          </ul>
          {found.jobs.length < found.total && (
            <p class="quiet">
              {found.jobs.length} of {found.total} are shown; the filter finds the others.
            </p>
          )}
          {edited && (
            <JobForm
              job={edited === "new" ? null : edited}
              close={() => {
                edit(null);
                again();
              }}
            />
          )}
        </>
      )}
    </Shown>
  );
}

function Figures({ jobs, next }: { jobs: Job[]; next: number | null }) {
  const failing = jobs.filter((job) => job.state.lastRunStatus === "error").length;
  return (
    <div class="figures-row">
      <Figure name="next run" value={next === null ? "none" : untilOf(next)} />
      <Figure name="jobs" value={jobs.length} />
      <Figure name="paused" value={jobs.filter((job) => !job.enabled).length} />
      <Figure name="failed last time" value={failing} tone={failing > 0 ? "warn" : ""} />
    </div>
  );
}

interface CardProps {
  job: Job;
  told: { label: string; detail: string } | undefined;
  edit(job: Job): void;
  again(): void;
}

function JobCard({ job, told, edit, again }: CardProps) {
  const [open, setOpen] = useState(false);
  return (
    <li class={job.enabled ? "card job" : "card job paused"} aria-label={job.name}>
      <div class="row wrap">
        <h2>{job.name}</h2>
        <Standing job={job} />
        <span class="grow" />
        {may("admin") && <JobActions job={job} edit={edit} again={again} />}
      </div>
      <p class="job-when">
        <strong>{inWords(job.schedule)}</strong>
        <span class="quiet">{nextOf(job)}</span>
      </p>
      <p class="clip">{wordsOf(job.payload)}</p>
      <p class="quiet">
        {job.payload.kind === "agentTurn" ? "a turn" : "a note for the next turn"} in {placeOf(job)}
        {told && told.label !== "nowhere" && ` · tells ${told.label === "last chat" ? "the last chat" : `${told.label} ${told.detail}`}`}
      </p>
      {job.state.lastError && <p class="problem clip">{job.state.lastError}</p>}
      <details class="past" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{lastOf(job)}</summary>
        {open && <Past job={job} />}
      </details>
    </li>
  );
}

function Standing({ job }: { job: Job }) {
  const { runningAtMs, lastRunStatus, nextRunAtMs } = job.state;
  if (runningAtMs !== undefined) return <span class="badge running">running</span>;
  if (!job.enabled) return <span class="badge">paused</span>;
  if (lastRunStatus === "error") return <span class="badge failed">failed</span>;
  return nextRunAtMs === undefined ? <span class="badge done">over</span> : null;
}

const nextOf = (job: Job): string => {
  const next = job.state.nextRunAtMs;
  if (!job.enabled) return "rests until it is resumed";
  return next === undefined ? "is not due again" : `next ${whenOf(next)}, ${untilOf(next)}`;
};

const lastOf = (job: Job): string => {
  const { lastRunAtMs, lastRunStatus, lastDurationMs, runningAtMs } = job.state;
  if (runningAtMs !== undefined) return `Runs since ${whenOf(runningAtMs)}`;
  if (lastRunAtMs === undefined) return "Not run yet";
  const came = { ok: "went well", error: "failed", skipped: "was left out" }[lastRunStatus ?? "ok"];
  return `Last ${whenOf(lastRunAtMs)}: ${came}${lastDurationMs ? `, ${lengthOf(lastDurationMs)}` : ""}`;
};

function placeOf(job: Job): string {
  const named = job.sessionTarget.startsWith("session:") ? job.sessionTarget.slice("session:".length) : null;
  if (named) return `“${nameOf(named)}”`;
  return job.sessionTarget === "main" ? "the main session" : "a session of its own";
}

function JobActions({ job, edit, again }: Omit<CardProps, "told">) {
  const act = async (method: string, params: object, done: string): Promise<void> => {
    await attempt(() => call(method, { id: job.id, ...params }), done);
    again();
  };
  const remove = async (): Promise<void> => {
    const text = "It does not run again. What it said stays where it was said.";
    const answer = await ask({ title: `Delete “${job.name}”?`, text, action: "Delete", danger: true });
    if (answer !== null) await act("cron.remove", {}, "Deleted");
  };
  return (
    <span class="row">
      <button type="button" class="small" disabled={job.state.runningAtMs !== undefined} onClick={() => void act("cron.run", {}, "It has begun")}>
        Run now
      </button>
      <button type="button" class="small" onClick={() => void act("cron.update", { patch: { enabled: !job.enabled } }, job.enabled ? "Paused" : "Resumed")}>
        {job.enabled ? "Pause" : "Resume"}
      </button>
      <button type="button" class="quiet-button small" aria-label={`Edit ${job.name}`} title="Edit" onClick={() => edit(job)}>
        <Icon name="edit" />
      </button>
      <button type="button" class="quiet-button small danger-text" aria-label={`Delete ${job.name}`} title="Delete" onClick={() => void remove()}>
        <Icon name="trash" />
      </button>
    </span>
  );
}

const CAME = { ok: "ok", error: "failed", skipped: "left out" } as const;
const TONE = { ok: "done", error: "failed", skipped: "" } as const;

function Past({ job }: { job: Job }) {
  const [most, setMost] = useState(SHOWN_FIRST);
  const asked = useAsked<{ entries: Firing[]; hasMore: boolean }>("cron.runs", { id: job.id, limit: most });
  return (
    <Shown asked={asked}>
      {(found) => (
        <>
          {found.entries.length === 0 && <p class="quiet">It was not due yet.</p>}
          <ul class="firings">
            {found.entries.map((one) => (
              <li key={`${one.dueAtMs} ${one.runAtMs}`}>
                <span class={`badge ${one.status ? TONE[one.status] : "running"}`}>{one.status ? CAME[one.status] : "running"}</span>
                <time title={`due ${whenOf(one.dueAtMs)}`}>{whenOf(one.runAtMs)}</time>
                <span class="quiet">{one.durationMs === undefined ? "" : lengthOf(one.durationMs)}</span>
                <span class="said-line">{one.error ?? one.summary ?? ""}</span>
                <a href={hrefOf({ at: "chat", key: one.sessionKey })}>Open</a>
              </li>
            ))}
          </ul>
          {found.hasMore && most < MOST && (
            <button type="button" class="link" onClick={() => setMost(Math.min(MOST, most + 4 * SHOWN_FIRST))}>
              Show older
            </button>
          )}
        </>
      )}
    </Shown>
  );
}
