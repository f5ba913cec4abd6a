import { useState } from "preact/hooks";
import { hrefOf } from "../../state/route";
import { nameOf } from "../../state/sessions";
import { costOf, countOf, dayOf } from "../words";
import { Empty, Figure, Shown, useAsked } from "./asked";
import { type Bar, Bars, Days } from "./Bars";

interface Spent {
  totalTokens: number;
  totalCost: number;
}

interface Usage {
  startDate: string;
  endDate: string;
  totals: Spent & { calls: number; input: number; output: number };
  aggregates: {
    costDaily?: (Spent & { date: string })[];
    byModel?: { provider?: string; model?: string; totals?: Spent }[];
    byAgent?: { agentId?: string; totals?: Spent }[];
    bySession?: { key: string; totals: Spent }[];
    otherSessions?: { sessions: number; totals: Spent };
  };
}

const RANGES = { "7d": "7 days", "30d": "30 days", "90d": "90 days", "1y": "a year" } as const;
type Measure = "totalCost" | "totalTokens";
const MOST = 12;
const DAY_MS = 86_400_000;

/** What models cost: by day, model, agent and session. */
export function UsagePart() {
  const [range, setRange] = useState<keyof typeof RANGES>("30d");
  const [measure, setMeasure] = useState<Measure>("totalTokens");
  const asked = useAsked<Usage>("sessions.usage", { range, limit: 200 });
  const told = measure === "totalCost" ? costOf : countOf;
  const value = (spent?: Spent | null): number => spent?.[measure] ?? 0;
  return (
    <Shown asked={asked}>
      {(found) => (
        <>
          <div class="figures-row">
            <Figure name="cost" value={costOf(found.totals.totalCost)} />
            <Figure name="tokens" value={countOf(found.totals.totalTokens)} />
            <Figure name="model calls" value={countOf(found.totals.calls)} />
          </div>
          <div class="row">
            <label class="row inline">
              Within
              <select value={range} onChange={(event) => setRange(event.currentTarget.value as keyof typeof RANGES)}>
                {Object.entries(RANGES).map(([name, words]) => (
                  <option key={name} value={name}>
                    {words}
                  </option>
                ))}
              </select>
            </label>
            <label class="row inline">
              Show
              <select value={measure} onChange={(event) => setMeasure(event.currentTarget.value as Measure)}>
                <option value="totalTokens">tokens</option>
                <option value="totalCost">cost</option>
              </select>
            </label>
          </div>
          {found.totals.calls === 0 && <Empty>No model was called yet.</Empty>}
          <Days
            title="By day"
            bars={everyDay(found).map((day) => ({ name: dayOf(Date.parse(day.date)), value: value(day) }))}
            told={told}
          />
          <Bars title="By model" bars={(found.aggregates.byModel ?? []).map((one) => ({ name: [one.provider, one.model].filter(Boolean).join("/"), value: value(one.totals) }))} told={told} />
          <Bars title="By agent" bars={(found.aggregates.byAgent ?? []).map((one) => ({ name: one.agentId ?? "", value: value(one.totals) }))} told={told} />
          <Bars title="By session" bars={dearest(found, value)} told={told} />
        </>
      )}
    </Shown>
  );
}

/** Days on which nothing was spent are days, too. */
function everyDay(found: Usage): (Spent & { date: string })[] {
  const told = new Map((found.aggregates.costDaily ?? []).map((day) => [day.date, day]));
  const days: (Spent & { date: string })[] = [];
  for (let at = Date.parse(found.startDate); at <= Date.parse(found.endDate); at += DAY_MS) {
    const date = new Date(at).toISOString().slice(0, 10);
    days.push(told.get(date) ?? { date, totalTokens: 0, totalCost: 0 });
  }
  return told.size > 0 ? days : [];
}

/** Those that cost most, and all others as one: together they are what the models cost. */
function dearest(found: Usage, value: (spent?: Spent | null) => number): Bar[] {
  const { bySession = [], otherSessions } = found.aggregates;
  const bars: Bar[] = bySession
    .map((one) => ({ name: nameOf(one.key), value: value(one.totals), href: hrefOf({ at: "chat", key: one.key }) }))
    .sort((one, other) => other.value - one.value);
  const left = bars.slice(MOST);
  const more = left.length + (otherSessions?.sessions ?? 0);
  const rest = left.reduce((sum, one) => sum + one.value, value(otherSessions?.totals));
  const shown = bars.slice(0, MOST).filter((one) => one.value > 0);
  return more > 0 ? [...shown, { name: more === 1 ? "one more session" : `${countOf(more)} more sessions`, value: rest }] : shown;
}
