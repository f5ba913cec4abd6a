// A conversation in which nothing was said yet: what can be done here, and how a real model is added.

import type { Conversation } from "../state/conversation";
import { onlyDemo } from "../state/sessions";

const TRY = ["What is a session?", "Which sessions are there?", "Spawn a helper to say hello.", "/status"];

export function Welcome({ talk }: { talk: Conversation }) {
  return (
    <div class="welcome" tabIndex={0} role="region" aria-label="Welcome">
      <h2>Say something</h2>
      <p class="quiet">
        Your agent answers here. It can list, read and message other sessions, and spawn helpers; all of them appear on the left as they
        begin.
      </p>
      <ul class="suggestions" aria-label="Suggestions">
        {TRY.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => void talk.own.say(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
      {onlyDemo.value && (
        <div class="card demo">
          <h3>No model is configured</h3>
          <p>
            The <strong>demo model</strong> answers: it needs no key, costs nothing, and knows a few plain requests. One command adds a real
            one; the running gateway takes it up by itself:
          </p>
          <pre tabIndex={0}>roost onboard</pre>
        </div>
      )}
    </div>
  );
}
