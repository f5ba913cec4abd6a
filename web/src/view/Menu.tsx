// A button that opens a few actions.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";

export interface Action {
  name: string;
  icon: IconName;
  danger?: boolean;
  act(): void;
}

export function Menu({ label, actions, children }: { label: string; actions: Action[]; children?: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    host.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const away = (event: Event): void => {
      if (!host.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);
  const keyed = (event: KeyboardEvent): void => {
    if (event.key === "Escape") {
      setOpen(false);
      host.current?.querySelector<HTMLElement>("button")?.focus();
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const all = [...(host.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const now = all.indexOf(document.activeElement as HTMLElement);
    all.at((now + (event.key === "ArrowDown" ? 1 : -1)) % all.length)?.focus();
  };
  return (
    <div class="menu" ref={host} onKeyDown={keyed}>
      <button type="button" class="quiet-button" aria-haspopup="menu" aria-expanded={open} aria-label={label} title={label} onClick={() => setOpen(!open)}>
        {children ?? <Icon name="more" />}
      </button>
      {open && (
        <div class="menu-items" role="menu">
          {actions.map((action) => (
            <button
              key={action.name}
              type="button"
              role="menuitem"
              class={action.danger ? "danger-text" : ""}
              onClick={() => {
                setOpen(false);
                action.act();
              }}
            >
              <Icon name={action.icon} />
              {action.name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
