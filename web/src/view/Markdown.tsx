import { useLayoutEffect, useRef } from "preact/hooks";
import { Drawing } from "./markdown";

/** Markdown, also while it grows. */
export function Markdown({ text }: { text: string }) {
  const host = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | null>(null);
  useLayoutEffect(() => {
    if (!host.current) return;
    drawing.current ??= new Drawing(host.current);
    drawing.current.draw(text);
  }, [text]);
  return <div class="markdown" ref={host} dir="auto" />;
}
