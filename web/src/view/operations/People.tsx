import { useState } from "preact/hooks";
import { call } from "../../state/gateway";
import { ask, attempt } from "../dialogs";
import { agoOf, momentOf } from "../words";
import { Empty, Shown, useAsked } from "./asked";

interface Person {
  channel: string;
  accountId: string;
  senderId: string;
  displayName?: string;
}

interface Asking extends Person {
  requestId: string;
  codeTold: boolean;
  askedAtMs: number;
}

interface Guest extends Person {
  personId: string;
  approvedAtMs: number;
}

interface Listed {
  asking: Asking[];
  people: Guest[];
}

/** People on channels who ask to be let in, and those who are. */
export function People() {
  const asked = useAsked<Listed>("people.list");
  const [code, setCode] = useState("");
  const act = async (method: string, params: object, done: string, then?: () => void): Promise<void> => {
    await attempt(() => call(method, params).then(then), done);
    asked.again();
  };
  const approve = (event: Event): void => {
    event.preventDefault();
    void act("people.approve", { code }, "Let in", () => setCode(""));
  };
  const remove = async (one: Guest): Promise<void> => {
    const answer = await ask({ title: `Remove ${nameOf(one)}?`, text: "What was said stays. To write again, they have to ask again.", action: "Remove", danger: true });
    if (answer !== null) await act("people.remove", { personId: one.personId }, "Removed");
  };
  return (
    <Shown asked={asked}>
      {(found) => (
        <>
          <section>
            <h2>Asking to be let in</h2>
            {found.asking.length === 0 && <Empty>Nobody asks. Who writes to a channel with pairing is told a code in that chat, to give to you.</Empty>}
            <ul class="cards">
              {found.asking.map((one) => (
                <li class="card row" key={one.requestId}>
                  <strong>{nameOf(one)}</strong>
                  <span class="quiet">
                    {placeOf(one)}, {agoOf(one.askedAtMs)}
                    {!one.codeTold && ", could not be told a code yet"}
                  </span>
                  <span class="grow" />
                  <button type="button" onClick={() => void act("people.reject", { requestId: one.requestId }, "Turned away")}>
                    Reject
                  </button>
                </li>
              ))}
              {found.asking.length > 0 && (
                <li class="card">
                  <form class="row" onSubmit={approve}>
                    <label for="pairing-code">Code that you were given</label>
                    <input id="pairing-code" value={code} autocomplete="off" onInput={(event) => setCode(event.currentTarget.value)} />
                    <button type="submit" class="primary" disabled={code.trim() === ""}>
                      Let in
                    </button>
                  </form>
                </li>
              )}
            </ul>
          </section>
          <section>
            <h2>Let in</h2>
            {found.people.length === 0 && <Empty>Nobody was let in by a code. Whom the configuration lists is not shown here.</Empty>}
            <ul class="cards">
              {found.people.map((one) => (
                <li class="card row" key={one.personId}>
                  <strong>{nameOf(one)}</strong>
                  <span class="quiet">
                    {placeOf(one)}, since {momentOf(one.approvedAtMs)}
                  </span>
                  <span class="grow" />
                  <button type="button" onClick={() => void remove(one)}>
                    Remove
                  </button>
                </li>
              ))}
            </ul>
          </section>
        </>
      )}
    </Shown>
  );
}

const nameOf = (one: Person): string => (one.displayName === undefined ? one.senderId : `${one.displayName} · ${one.senderId}`);

const placeOf = (one: Person): string => (one.accountId === "default" ? `on ${one.channel}` : `on ${one.channel} (${one.accountId})`);
