// The commands that what was typed may become.

import type { CommandRow } from "../wire/shapes";

const MOST = 8;

export function offered(text: string, commands: CommandRow[]): CommandRow[] {
  const typed = /^\/([\w-]*)$/.exec(text)?.[1]?.toLowerCase();
  if (typed === undefined) return [];
  const begins = commands.filter((one) => one.textAliases.some((name) => name.startsWith(`/${typed}`)));
  return begins.slice(0, MOST);
}

export function Palette({ offers, chosen, pick }: { offers: CommandRow[]; chosen: number; pick(index: number): void }) {
  return (
    <ul id="palette" class="palette" role="listbox" aria-label="Commands" hidden={offers.length === 0}>
      {offers.map((one, index) => (
        <li
          key={one.name}
          id={`command-${one.name}`}
          role="option"
          aria-selected={index === chosen}
          onPointerDown={(event) => {
            event.preventDefault();
            pick(index);
          }}
        >
          <strong>/{one.name}</strong>
          <span>{one.description}</span>
        </li>
      ))}
    </ul>
  );
}
