import { may } from "../../state/gateway";
import { hrefOf } from "../../state/route";
import { running, sessions, stop } from "../../state/sessions";
import { type SessionRow, titleOf } from "../../wire/shapes";
import { attempt } from "../dialogs";
import { State } from "../Sidebar";
import { endedBadly, useWhy } from "../why";
import { agoOf } from "../words";
import { Empty, Figure } from "./asked";

const MOST = 20;

/** What runs and waits now, and what did not end well. */
export function Runs() {
  const now = running.value;
  const works = now.filter((row) => row.status === "running");
  const failed = [...sessions.value.values()].filter(endedBadly).sort((one, other) => other.updatedAt - one.updatedAt);
  return (
    <>
      <div class="figures-row">
        <Figure name="running" value={works.length} />
        <Figure name="waiting" value={now.length - works.length} />
        <Figure name="did not end well" value={failed.length} tone={failed.length > 0 ? "warn" : ""} />
      </div>
      <section>
        <h2>Now</h2>
        {now.length === 0 ? <Empty>Nothing runs. A message to any session begins a run, and it shows up here.</Empty> : <Table rows={now} stops />}
      </section>
      {failed.length > 0 && (
        <section>
          <h2>Did not end well</h2>
          <Table rows={failed.slice(0, MOST)} />
        </section>
      )}
    </>
  );
}

function Why({ row }: { row: SessionRow }) {
  const why = useWhy(row);
  return why && <p class="quiet why">{why}</p>;
}

function Table({ rows, stops = false }: { rows: SessionRow[]; stops?: boolean }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Session</th>
          <th scope="col">State</th>
          <th scope="col">Agent</th>
          <th scope="col">Model</th>
          <th scope="col">Since</th>
          {stops && (
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.key}>
            <td>
              <a href={hrefOf({ at: "chat", key: row.key })}>{titleOf(row)}</a>
            </td>
            <td>
              <State row={row} /> {row.status}
              <Why row={row} />
            </td>
            <td>{row.agentId}</td>
            <td>{row.model ?? "default"}</td>
            <td>{agoOf(row.updatedAt)}</td>
            {stops && (
              <td>
                {may("write") && (
                  <button type="button" class="small" onClick={() => void attempt(() => stop(row.key), "Stopped")}>
                    Stop
                  </button>
                )}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
