// The head of a conversation: its name, what it is answered with, and how full and how dear it is.

import type { Conversation } from "../state/conversation";
import { may } from "../state/gateway";
import { sidebarOpen } from "../state/route";
import { models, patch, sessions } from "../state/sessions";
import { type SessionRow, titleOf } from "../wire/shapes";
import { attempt } from "./dialogs";
import { Icon } from "./icons";
import { Menu } from "./Menu";
import { actionsOf } from "./sessionActions";
import { State } from "./Sidebar";
import { costOf, countOf } from "./words";

const SET = "Holds from the next answer on";

export function SidebarButton() {
  return (
    <button type="button" class="quiet-button only-narrow" aria-label="Show the sessions" onClick={() => (sidebarOpen.value = true)}>
      <Icon name="menu" />
    </button>
  );
}

export function Head({ talk }: { talk: Conversation }) {
  const row = sessions.value.get(talk.key) ?? talk.info.value;
  return (
    <header class="head">
      <SidebarButton />
      <div class="names">
        <h1>
          {row && <State row={row} />}
          <span>{row ? titleOf(row) : "New conversation"}</span>
        </h1>
        <p class="quiet key">{talk.key}</p>
      </div>
      <div class="tools-row">
        {row && <Meter row={row} most={row.contextTokens ?? talk.defaults.value?.contextTokens ?? 0} />}
        <Pickers talk={talk} row={row} />
      </div>
      {row && <Menu label="Actions for this session" actions={actionsOf(row)} />}
    </header>
  );
}

function Meter({ row, most }: { row: SessionRow; most: number }) {
  const share = most > 0 ? Math.min(1, row.totalTokens / most) : 0;
  const text = `Context: ${countOf(row.totalTokens)} of ${countOf(most)} tokens; cost so far ${costOf(row.estimatedCostUsd)}`;
  return (
    <span class="meter" title={text}>
      <meter aria-label="Context used" min={0} max={1} low={0.7} high={0.9} optimum={0} value={share}>
        {Math.round(share * 100)} %
      </meter>
      <span>{Math.round(share * 100)} %</span>
      <span class="cost">{costOf(row.estimatedCostUsd)}</span>
    </span>
  );
}

function Pickers({ talk, row }: { talk: Conversation; row: SessionRow | null }) {
  const usual = talk.defaults.value;
  const model = row?.model ? `${row.modelProvider ?? ""}/${row.model}` : "";
  const known = models.value.map((one) => ({ value: `${one.provider}/${one.id}`, name: one.name }));
  const gone = model && !known.some((one) => one.value === model) ? [{ value: model, name: row?.model ?? model }] : [];
  const levels = usual?.thinkingOptions ?? [];
  const locked = !may("write");
  return (
    <>
      <select
        aria-label="Model"
        title="The model that answers here"
        disabled={locked}
        value={model}
        onChange={(event) => void attempt(() => patch(talk.key, { model: event.currentTarget.value || null }), SET)}
      >
        <option value="">{usual?.model ? `default (${usual.model})` : "default"}</option>
        {[...known, ...gone].map((one) => (
          <option key={one.value} value={one.value}>
            {one.name}
          </option>
        ))}
      </select>
      {levels.length > 1 && (
        <select
          aria-label="Thinking"
          title="How long the model thinks"
          disabled={locked}
          value={row?.thinkingLevel ?? ""}
          onChange={(event) => void attempt(() => patch(talk.key, { thinkingLevel: event.currentTarget.value || null }), SET)}
        >
          <option value="">thinking: default</option>
          {levels.map((level) => (
            <option key={level} value={level}>
              thinking: {level}
            </option>
          ))}
        </select>
      )}
    </>
  );
}
