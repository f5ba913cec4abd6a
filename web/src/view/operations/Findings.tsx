import { Empty, Figure, Shown, useAsked } from "./asked";

interface Finding {
  checkId: string;
  severity: "critical" | "warn" | "info";
  detail: string;
  setting: string;
  remediation: string;
}

interface Audited {
  summary: Record<string, number>;
  findings: Finding[];
}

/** What the settings leave open to others, and how each is closed. */
export function Findings() {
  const asked = useAsked<Audited>("security.audit");
  return (
    <Shown asked={asked}>
      {(found) => (
        <>
          <div class="figures-row">
            <Figure name="critical" value={found.summary["critical"] ?? 0} tone={found.summary["critical"] ? "bad" : ""} />
            <Figure name="warnings" value={found.summary["warn"] ?? 0} tone={found.summary["warn"] ? "warn" : ""} />
            <Figure name="for your information" value={found.summary["info"] ?? 0} />
          </div>
          {found.findings.length === 0 && <Empty>Nothing was found.</Empty>}
          <ul class="cards">
            {found.findings.map((one) => (
              <li class="card" key={`${one.checkId} ${one.setting}`}>
                <div class="row">
                  <span class={`badge ${one.severity}`}>{one.severity}</span>
                  <strong>{one.detail}</strong>
                </div>
                <p>
                  <strong>To close it:</strong> {one.remediation}
                </p>
                <p class="quiet">
                  <code>{one.setting}</code> · {one.checkId}
                </p>
              </li>
            ))}
          </ul>
        </>
      )}
    </Shown>
  );
}
