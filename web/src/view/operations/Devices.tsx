import { useEffect } from "preact/hooks";
import { call, on } from "../../state/gateway";
import { ask, attempt } from "../dialogs";
import { agoOf, momentOf } from "../words";
import { Empty, Shown, useAsked } from "./asked";

interface Device {
  deviceId: string;
  displayName?: string;
  clientId: string;
  platform: string;
  scopes: string[];
}

interface Asking extends Device {
  requestId: string;
  remoteIp: string;
  ts: number;
  code?: string;
}

interface Paired extends Device {
  approvedAtMs: number;
  tokens: { createdAtMs: number }[];
}

interface Listed {
  pending: Asking[];
  paired: Paired[];
}

/** Devices that ask to be let in, and those that are. */
export function Devices() {
  const asked = useAsked<Listed>("device.pair.list");
  useEffect(() => {
    const ends = [on("device.pair.requested", asked.again), on("device.pair.resolved", asked.again)];
    return () => ends.forEach((end) => end());
  }, []);
  const act = async (method: string, params: object, done: string): Promise<void> => {
    await attempt(() => call(method, params), done);
    asked.again();
  };
  const remove = async (one: Paired): Promise<void> => {
    const answer = await ask({ title: `Remove ${nameOf(one)}?`, text: "It is disconnected at once and has to be paired anew.", action: "Remove", danger: true });
    if (answer !== null) await act("device.pair.remove", { deviceId: one.deviceId }, "Removed");
  };
  return (
    <Shown asked={asked}>
      {(found) => (
        <>
          <section>
            <h2>Asking to be let in</h2>
            {found.pending.length === 0 && <Empty>Nobody asks. Open this page on another device and choose “Pair this browser”.</Empty>}
            <ul class="cards">
              {found.pending.map((one) => (
                <li class="card" key={one.requestId}>
                  <div class="row">
                    <strong>{nameOf(one)}</strong>
                    <span class="quiet">
                      {one.platform} at {one.remoteIp}, {agoOf(one.ts)}
                    </span>
                    <span class="grow" />
                    {one.code && (
                      <span>
                        Code <code class="code-word">{one.code}</code>
                      </span>
                    )}
                  </div>
                  <p class="quiet">asks for {one.scopes.map((scope) => scope.replace("operator.", "")).join(", ")}</p>
                  <div class="row">
                    <button type="button" class="primary" onClick={() => void act("device.pair.approve", { requestId: one.requestId }, "Let in")}>
                      Approve
                    </button>
                    <button type="button" onClick={() => void act("device.pair.reject", { requestId: one.requestId }, "Turned away")}>
                      Reject
                    </button>
                  </div>
                </li>
              ))}
            </ul>
          </section>
          <section>
            <h2>Paired</h2>
            {found.paired.length === 0 && <Empty>No device is paired yet.</Empty>}
            <ul class="cards">
              {found.paired.map((one) => (
                <li class="card row" key={one.deviceId}>
                  <strong>{nameOf(one)}</strong>
                  <span class="quiet">since {momentOf(one.approvedAtMs)}</span>
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

const nameOf = (device: Device): string => `${device.displayName ?? device.clientId} · ${device.deviceId.slice(0, 8)}`;
