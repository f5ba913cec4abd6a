// What a part of operations asks the gateway for, again and again while it is looked at.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, whenever } from "../../state/gateway";

const EVERY_MS = 3_000;

export interface Asked<T> {
  value: T | null;
  problem: string | null;
  again(): void;
}

export function useAsked<T>(method: string, params: object = {}): Asked<T> {
  const [value, setValue] = useState<T | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const named = JSON.stringify(params);
  const again = (): void => {
    call<T>(method, params).then(
      (found) => {
        setValue(found);
        setProblem(null);
      },
      (error: Error) => setProblem(error.message),
    );
  };
  useEffect(() => {
    const end = whenever(again);
    const timer = window.setInterval(() => document.visibilityState === "visible" && again(), EVERY_MS);
    return () => {
      end();
      window.clearInterval(timer);
    };
  }, [method, named]);
  return { value, problem, again };
}

export function Shown<T>({ asked, children }: { asked: Asked<T>; children(value: T): ComponentChildren }) {
  if (asked.value === null) return <p class="quiet">{asked.problem ?? "Reading…"}</p>;
  return <>{children(asked.value)}</>;
}

export function Figure({ name, value, tone }: { name: string; value: string | number; tone?: string }) {
  return (
    <div class={`figure ${tone ?? ""}`}>
      <span class="number">{value}</span>
      <span class="quiet">{name}</span>
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty quiet">{children}</p>;
}
