// How the gateway does, and what waits for a decision.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { has, may } from "../state/gateway";
import { hrefOf } from "../state/route";
import { SidebarButton } from "./Head";
import { Configuration } from "./operations/Configuration";
import { Deliveries } from "./operations/Deliveries";
import { Devices } from "./operations/Devices";
import { Findings } from "./operations/Findings";
import { Gateways } from "./operations/Gateways";
import { Jobs } from "./operations/Jobs";
import { People } from "./operations/People";
import { Refusals } from "./operations/Refusals";
import { Runs } from "./operations/Runs";
import { UsagePart } from "./operations/Usage";

interface Part {
  name: string;
  title: string;
  show(): ComponentChildren;
  there(): boolean;
}

const PARTS: Part[] = [
  { name: "runs", title: "Runs", show: () => <Runs />, there: () => true },
  { name: "deliveries", title: "Deliveries", show: () => <Deliveries />, there: () => has("deliveries.list") && may("admin") },
  { name: "jobs", title: "Jobs", show: () => <Jobs />, there: () => has("cron.list") },
  { name: "gateways", title: "Gateways", show: () => <Gateways />, there: () => has("gateways.list") && may("admin") },
  { name: "usage", title: "Usage", show: () => <UsagePart />, there: () => true },
  { name: "audit", title: "Audit", show: () => <Findings />, there: () => has("security.audit") && may("admin") },
  { name: "refusals", title: "Refusals", show: () => <Refusals />, there: () => has("sessions.denials") },
  { name: "devices", title: "Devices", show: () => <Devices />, there: () => may("pairing") },
  { name: "people", title: "People", show: () => <People />, there: () => has("people.list") && may("pairing") },
  { name: "configuration", title: "Configuration", show: () => <Configuration />, there: () => true },
];

export function Operations({ part }: { part: string }) {
  const parts = PARTS.filter((one) => one.there());
  const now = parts.find((one) => one.name === part) ?? parts[0];
  const tabs = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [now?.name]);
  return (
    <div class="page">
      <header class="head">
        <SidebarButton />
        <div class="names">
          <h1>Operations</h1>
        </div>
      </header>
      <nav class="tabs" ref={tabs} aria-label="Parts of operations">
        {parts.map((one) => (
          <a key={one.name} href={hrefOf({ at: "operations", part: one.name })} aria-current={one === now ? "page" : undefined}>
            {one.title}
          </a>
        ))}
      </nav>
      <div class="page-body" tabIndex={0} role="region" aria-label={now?.title ?? ""}>
        {now?.show()}
      </div>
    </div>
  );
}
