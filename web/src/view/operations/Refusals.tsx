import { momentOf } from "../words";
import { Empty, Shown, useAsked } from "./asked";

interface Denial {
  at: number;
  operation: string;
  principal: string;
  rule: string;
  reason: string;
  sessionKey?: string;
  target?: string;
}

/** What was not done, and the rule that decided so. */
export function Refusals() {
  const asked = useAsked<{ denials: Denial[] }>("sessions.denials", { limit: 100 });
  return (
    <Shown asked={asked}>
      {(found) => (
        <>
          {found.denials.length === 0 && <Empty>Nothing was refused. Whatever a policy stops is kept here with its rule.</Empty>}
          <ul class="cards">
            {found.denials.map((one, index) => (
              <li class="card" key={index}>
                <div class="row">
                  <strong>{one.operation}</strong>
                  <span class="badge warn">{one.rule}</span>
                  <span class="grow" />
                  <time class="quiet">{momentOf(one.at)}</time>
                </div>
                <p>{one.reason}</p>
                <p class="quiet">
                  {one.principal}
                  {one.sessionKey && ` in ${one.sessionKey}`}
                  {one.target && ` → ${one.target}`}
                </p>
              </li>
            ))}
          </ul>
        </>
      )}
    </Shown>
  );
}
