// Where something is said. Drafts stay; a slash offers the commands.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Conversation } from "../state/conversation";
import { may } from "../state/gateway";
import { draftOf, keepDraft } from "../state/kept";
import { commands } from "../state/sessions";
import { attempt } from "./dialogs";
import { Icon } from "./icons";
import { Palette, offered } from "./Palette";

const MOST_HEIGHT = 240;

export function Composer({ talk, disabled }: { talk: Conversation; disabled: boolean }) {
  const [text, setText] = useState(draftOf(talk.key));
  const [chosen, choose] = useState(0);
  const [dismissed, dismiss] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const offers = dismissed ? [] : offered(text, commands.value);
  const put = (next: string): void => {
    setText(next);
    choose(0);
    dismiss(false);
    keepDraft(talk.key, next);
  };
  const send = (): void => {
    const said = text.trim();
    if (!said || disabled) return;
    put("");
    void talk.own.say(said);
  };
  const complete = (index: number): void => {
    const one = offers[index];
    if (!one) return;
    put(`/${one.name}${one.acceptsArgs ? " " : ""}`);
    dismiss(true);
    field.current?.focus();
  };
  // With what it belongs to: who goes elsewhere at once is not called back.
  useLayoutEffect(() => {
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, []);
  useLayoutEffect(() => {
    const box = field.current;
    if (!box) return;
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, MOST_HEIGHT)}px`;
  }, [text]);
  const keyed = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (offers.length > 0 && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      choose((chosen + (event.key === "ArrowDown" ? 1 : offers.length - 1)) % offers.length);
    } else if (offers.length > 0 && (event.key === "Tab" || (event.key === "Enter" && `/${offers[chosen]?.name}` !== text.trim()))) {
      event.preventDefault();
      complete(chosen);
    } else if (event.key === "Escape") {
      if (offers.length > 0) dismiss(true);
      else if (talk.busy.value) void attempt(() => talk.stop());
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    }
  };
  if (!may("write")) return <p class="quiet pad">This credential may read, not write.</p>;
  const busy = talk.busy.value;
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Palette offers={offers} chosen={chosen} pick={complete} />
      <div class="field">
        <textarea
          ref={field}
          rows={1}
          value={text}
          dir="auto"
          placeholder={busy ? "Say something to the run under way…" : "Message, or / for commands"}
          aria-label="Message"
          aria-controls="palette"
          aria-activedescendant={offers.length > 0 ? `command-${offers[chosen]?.name}` : undefined}
          aria-autocomplete="list"
          onInput={(event) => put(event.currentTarget.value)}
          onKeyDown={keyed}
        />
        {busy && (
          <button type="button" class="stop" aria-label="Stop" title="Stop (Esc)" onClick={() => void attempt(() => talk.stop())}>
            <Icon name="stop" />
          </button>
        )}
        <button type="submit" class="primary send" aria-label="Send" title="Send (Enter)" disabled={!text.trim() || disabled}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
