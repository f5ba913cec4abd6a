// When a job is due: in words, and as a form asks for it. Values in, values out.

import { clockOf, momentOf } from "./words";

export type Schedule =
  | { kind: "at"; at: string }
  | { kind: "every"; everyMs: number; anchorMs?: number }
  | { kind: "cron"; expr: string; tz?: string };

export type Wish =
  | { kind: "once"; moment: string }
  | { kind: "every"; amount: number; unit: Unit }
  | { kind: "daily"; time: string; days: string; tz: string }
  | { kind: "cron"; expr: string; tz: string };

export type Unit = keyof typeof UNITS;
export const UNITS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000, seconds: 1_000 } as const;
export const DAYS: ReadonlyMap<string, string> = new Map([
  ["*", "every day"],
  ["1-5", "on weekdays"],
  ["1", "on Mondays"],
  ["2", "on Tuesdays"],
  ["3", "on Wednesdays"],
  ["4", "on Thursdays"],
  ["5", "on Fridays"],
  ["6", "on Saturdays"],
  ["0", "on Sundays"],
]);
const WORDS: Record<string, string> = {
  "@hourly": "every hour",
  "@daily": "every day at midnight",
  "@midnight": "every day at midnight",
  "@weekly": "on Sundays at midnight",
  "@monthly": "on the first of each month",
  "@yearly": "on the first of January",
  "@annually": "on the first of January",
};
const DAILY = /^(\d{1,2}) (\d{1,2}) \* \* (\S+)$/;
const MONTHLY = /^(\d{1,2}) (\d{1,2}) (\d{1,2}) \* \*$/;
const MINUTES = /^\*\/(\d{1,2}) \* \* \* \*$/;
const HOURLY = /^(\d{1,2}) \* \* \* \*$/;

export const zoneHere = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;
const twice = (part: string): string => part.padStart(2, "0");

export function inWords(schedule: Schedule): string {
  switch (schedule.kind) {
    case "at":
      return `once, ${momentOf(Date.parse(schedule.at))}`;
    case "every": {
      const { amount, unit } = spanOf(schedule.everyMs);
      return amount === 1 ? `every ${unit.slice(0, -1)}` : `every ${amount} ${unit}`;
    }
    case "cron":
      return clockWords(schedule.expr) + (schedule.tz && schedule.tz !== zoneHere() ? ` (${placeOf(schedule.tz)})` : "");
  }
}

const placeOf = (zone: string): string => (zone.split("/").at(-1) ?? zone).replaceAll("_", " ");

function clockWords(expression: string): string {
  const expr = expression.trim().replace(/\s+/g, " ");
  const daily = DAILY.exec(expr);
  if (daily) {
    const days = DAYS.get(daily[3] === "7" ? "0" : (daily[3] ?? ""));
    if (days) return `${days} at ${clockOf(daily[2], daily[1])}`;
  }
  const monthly = MONTHLY.exec(expr);
  if (monthly) return `on day ${monthly[3]} of each month at ${clockOf(monthly[2], monthly[1])}`;
  const minutes = MINUTES.exec(expr);
  if (minutes) return minutes[1] === "1" ? "every minute" : `every ${minutes[1]} minutes`;
  const hourly = HOURLY.exec(expr);
  if (hourly) return hourly[1] === "0" ? "every hour" : `every hour at ${twice(hourly[1] ?? "")} minutes past`;
  return WORDS[expr.toLowerCase()] ?? `by the clock: ${expr}`;
}

function spanOf(milliseconds: number): { amount: number; unit: Unit } {
  const units: Unit[] = ["days", "hours", "minutes", "seconds"];
  const unit = units.find((one) => milliseconds % UNITS[one] === 0) ?? "seconds";
  return { amount: milliseconds / UNITS[unit], unit };
}

/** What a form begins with; nothing yet is every morning. */
export function wishOf(schedule?: Schedule): Wish {
  if (!schedule) return { kind: "daily", time: "08:00", days: "*", tz: zoneHere() };
  switch (schedule.kind) {
    case "at":
      return { kind: "once", moment: localOf(Date.parse(schedule.at)) };
    case "every":
      return { kind: "every", ...spanOf(schedule.everyMs) };
    case "cron": {
      const daily = DAILY.exec(schedule.expr.trim());
      const tz = schedule.tz ?? "";
      if (daily?.[3] && DAYS.has(daily[3])) return { kind: "daily", time: `${twice(daily[2] ?? "")}:${twice(daily[1] ?? "")}`, days: daily[3], tz };
      return { kind: "cron", expr: schedule.expr, tz };
    }
  }
}

export function scheduleOf(wish: Wish): Schedule {
  switch (wish.kind) {
    case "once":
      return { kind: "at", at: new Date(wish.moment).toISOString() };
    case "every":
      return { kind: "every", everyMs: wish.amount * UNITS[wish.unit] };
    case "daily": {
      const [hour, minute] = wish.time.split(":").map(Number);
      return { kind: "cron", expr: `${minute} ${hour} * * ${wish.days}`, ...(wish.tz ? { tz: wish.tz } : {}) };
    }
    case "cron":
      return { kind: "cron", expr: wish.expr.trim(), ...(wish.tz.trim() ? { tz: wish.tz.trim() } : {}) };
  }
}

/** A moment as the browser's own field holds it. */
export function localOf(at: number): string {
  const day = new Date(at);
  const parts = [day.getMonth() + 1, day.getDate(), day.getHours(), day.getMinutes()].map((part) => twice(String(part)));
  return `${day.getFullYear()}-${parts[0]}-${parts[1]}T${parts[2]}:${parts[3]}`;
}
