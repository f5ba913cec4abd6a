// When a job is due, as a person writes it down.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { DAYS, UNITS, type Unit, type Wish, localOf, wishOf, zoneHere } from "../schedules";

const SOON_MS = 3_600_000;
const KINDS: Record<Wish["kind"], string> = { daily: "on days, at a time", every: "every so often", once: "once", cron: "by a cron expression" };

export function Field({ label, children }: { label: string; children(id: string): ComponentChildren }) {
  const id = useId();
  return (
    <div class="field-of">
      <label for={id}>{label}</label>
      {children(id)}
    </div>
  );
}

const FIRST: Record<Wish["kind"], () => Wish> = {
  daily: () => wishOf(),
  every: () => ({ kind: "every", amount: 30, unit: "minutes" }),
  once: () => ({ kind: "once", moment: localOf(Date.now() + SOON_MS) }),
  cron: () => ({ kind: "cron", expr: "0 8 * * 1-5", tz: zoneHere() }),
};

export function When({ wish, put }: { wish: Wish; put(wish: Wish): void }) {
  return (
    <fieldset class="fields">
      <Field label="When">
        {(id) => (
          <select id={id} value={wish.kind} onChange={(event) => put(FIRST[event.currentTarget.value as Wish["kind"]]())}>
            {Object.entries(KINDS).map(([kind, words]) => (
              <option key={kind} value={kind}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      {wish.kind === "daily" && (
        <>
          <Field label="Days">
            {(id) => (
              <select id={id} value={wish.days} onChange={(event) => put({ ...wish, days: event.currentTarget.value })}>
                {[...DAYS].map(([days, words]) => (
                  <option key={days} value={days}>
                    {words}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Time">
            {(id) => <input id={id} type="time" required value={wish.time} onInput={(event) => put({ ...wish, time: event.currentTarget.value })} />}
          </Field>
        </>
      )}
      {wish.kind === "every" && (
        <>
          <Field label="Every">
            {(id) => <input id={id} type="number" required min={1} value={wish.amount} onInput={(event) => put({ ...wish, amount: event.currentTarget.valueAsNumber })} />}
          </Field>
          <Field label="Unit">
            {(id) => (
              <select id={id} value={wish.unit} onChange={(event) => put({ ...wish, unit: event.currentTarget.value as Unit })}>
                {Object.keys(UNITS).map((unit) => (
                  <option key={unit}>{unit}</option>
                ))}
              </select>
            )}
          </Field>
        </>
      )}
      {wish.kind === "once" && (
        <Field label="Moment">
          {(id) => <input id={id} type="datetime-local" required value={wish.moment} onInput={(event) => put({ ...wish, moment: event.currentTarget.value })} />}
        </Field>
      )}
      {wish.kind === "cron" && (
        <Field label="Expression">
          {(id) => <input id={id} required spellcheck={false} placeholder="0 8 * * 1-5" value={wish.expr} onInput={(event) => put({ ...wish, expr: event.currentTarget.value })} />}
        </Field>
      )}
      {(wish.kind === "daily" || wish.kind === "cron") && (
        <Field label="Time zone">
          {(id) => <input id={id} spellcheck={false} placeholder="the gateway's" value={wish.tz} onInput={(event) => put({ ...wish, tz: event.currentTarget.value })} />}
        </Field>
      )}
    </fieldset>
  );
}
