// Times, amounts and sizes in words.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const number = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });

/** The time alone where the day is today. */
export const timeOf = (at: number): string => whenOf(at).replace(/^today /, "");
/** An hour on the wall, as people here write it. */
export const clockOf = (hour = "0", minute = "0"): string => clock.format(new Date(2000, 0, 1, Number(hour), Number(minute)));
/** A day that the gateway counts, by UTC. */
export const dayOf = (at: number): string => new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" }).format(at);
export const momentOf = (at: number): string => whole.format(at);

export function agoOf(at: number, now = Date.now()): string {
  const past = now - at;
  if (past < MINUTE) return "now";
  if (past < HOUR) return `${Math.floor(past / MINUTE)} min`;
  if (past < DAY) return `${Math.floor(past / HOUR)} h`;
  return day.format(at);
}

/** A moment near now by its day and its time. */
export function whenOf(at: number, now = Date.now()): string {
  const apart = Math.round((new Date(at).setHours(0, 0, 0, 0) - new Date(now).setHours(0, 0, 0, 0)) / DAY);
  const near = { "-1": "yesterday", "0": "today", "1": "tomorrow" }[String(apart)];
  if (near) return `${near} ${clock.format(at)}`;
  return Math.abs(apart) < 7 ? `${weekday.format(at)} ${clock.format(at)}` : whole.format(at);
}

export function untilOf(at: number, now = Date.now()): string {
  const left = at - now;
  if (left < MINUTE) return "now";
  if (left < HOUR) return `in ${Math.floor(left / MINUTE)} min`;
  if (left < 2 * DAY) return `in ${Math.floor(left / HOUR)} h`;
  return `in ${Math.floor(left / DAY)} days`;
}

export function lengthOf(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < MINUTE) return `${(milliseconds / 1_000).toFixed(1)} s`;
  if (milliseconds < HOUR) return `${Math.floor(milliseconds / MINUTE)} min ${Math.floor((milliseconds % MINUTE) / 1_000)} s`;
  return `${Math.floor(milliseconds / HOUR)} h ${Math.floor((milliseconds % HOUR) / MINUTE)} min`;
}

export const countOf = (amount: number): string => number.format(amount);

export function costOf(dollars: number): string {
  if (dollars === 0) return "$0";
  return dollars < 0.01 ? `$${dollars.toPrecision(2)}` : `$${dollars.toFixed(2)}`;
}
