import { hello } from "../../state/gateway";
import { lengthOf, momentOf } from "../words";
import { Figure, Shown, useAsked } from "./asked";

interface Lease {
  name: string;
  holder: string;
  address?: string;
  epoch: number;
  expiresAt: number;
  live: boolean;
}

interface Presence {
  text: string;
  mode: string;
  clientId?: string;
  onlineSince?: number;
}

/** Who holds a lease on the store, and who is connected. */
export function Gateways() {
  const leases = useAsked<{ ts: number; gateways: Lease[] }>("gateways.list");
  const present = useAsked<Presence[]>("system-presence");
  const liveOf = (all: Lease[]): number => all.filter((one) => one.live).length;
  return (
    <>
      <Shown asked={leases}>
        {(found) => (
          <section>
            <div class="figures-row">
              <Figure name="gateways" value={liveOf(found.gateways)} />
              {liveOf(found.gateways) < found.gateways.length && <Figure name="gone" value={found.gateways.length - liveOf(found.gateways)} />}
              <Figure name="version" value={hello.value?.server.version ?? ""} />
            </div>
            <table>
              <thead>
                <tr>
                  <th scope="col">Gateway</th>
                  <th scope="col">Address</th>
                  <th scope="col">Epoch</th>
                  <th scope="col">Lease</th>
                </tr>
              </thead>
              <tbody>
                {found.gateways.map((one) => (
                  <tr key={one.name}>
                    <td>
                      {one.name} <span class="quiet">{one.holder}</span>
                    </td>
                    <td>{one.address}</td>
                    <td>{one.epoch}</td>
                    <td>{one.live ? `valid for ${lengthOf(one.expiresAt - found.ts)}` : "expired"}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
      </Shown>
      <Shown asked={present}>
        {(found) => (
          <section>
            <h2>Connected</h2>
            <ul class="plain-list">
              {found.map((one, index) => (
                <li key={index}>
                  {one.text} {one.onlineSince && <span class="quiet">since {momentOf(one.onlineSince)}</span>}
                </li>
              ))}
            </ul>
          </section>
        )}
      </Shown>
    </>
  );
}
