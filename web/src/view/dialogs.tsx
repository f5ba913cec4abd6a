// Questions to the person, one at a time, and short news.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

interface Question {
  title: string;
  text?: string;
  action: string;
  danger?: boolean;
  input?: { label: string; value: string };
  answer(value: string | null): void;
}

const asked = signal<Question | null>(null);
const news = signal<{ text: string; id: number } | null>(null);
const NEWS_MS = 4_000;
let told = 0;

export const ask = (question: Omit<Question, "answer">): Promise<string | null> =>
  new Promise((resolve) => {
    asked.value = {
      ...question,
      answer: (value) => {
        asked.value = null;
        resolve(value);
      },
    };
  });

export function tell(text: string): void {
  const id = ++told;
  news.value = { text, id };
  window.setTimeout(() => {
    if (news.peek()?.id === id) news.value = null;
  }, NEWS_MS);
}

/** Do something for the person; what goes wrong is told. */
export async function attempt(act: () => Promise<unknown>, done?: string): Promise<void> {
  try {
    await act();
    if (done) tell(done);
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
  }
}

export function Dialogs() {
  return (
    <>
      {asked.value && <Ask key={asked.value.title} question={asked.value} />}
      <div class="news" role="status">
        {news.value && <p key={news.value.id}>{news.value.text}</p>}
      </div>
    </>
  );
}

function Ask({ question }: { question: Question }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    input.current?.select();
  }, []);
  return (
    <dialog ref={dialog} onClose={() => question.answer(null)} aria-labelledby="dialog-title">
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          question.answer(input.current?.value ?? "");
        }}
      >
        <h2 id="dialog-title">{question.title}</h2>
        {question.text && <p>{question.text}</p>}
        {question.input && (
          <>
            <label for="dialog-input">{question.input.label}</label>
            <input id="dialog-input" ref={input} defaultValue={question.input.value} autofocus />
          </>
        )}
        <div class="row end">
          <button type="button" onClick={() => question.answer(null)}>
            Cancel
          </button>
          <button type="submit" class={question.danger ? "danger" : "primary"}>
            {question.action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
