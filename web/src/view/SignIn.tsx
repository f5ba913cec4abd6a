// Who is not let in: with the gateway's token, or by being paired from a device that is.

import { useEffect, useState } from "preact/hooks";
import { askToPair, pairing, refusal, signIn } from "../state/gateway";
import { canPair } from "../wire/identity";

const AGAIN_MS = 4_000;
const WORDS: Record<string, string> = {
  AUTH_TOKEN_MISMATCH: "That token is not the gateway's.",
  AUTH_PASSWORD_MISMATCH: "That password is not the gateway's.",
  AUTH_BOOTSTRAP_TOKEN_INVALID: "That code is not, or not any more, of this browser's request.",
  AUTH_DEVICE_TOKEN_MISMATCH: "This browser is not paired any more.",
};
const WAITING = new Set(["PAIRING_REQUIRED", "AUTH_RATE_LIMITED"]);
const SILENT = new Set(["DEVICE_IDENTITY_REQUIRED", "PAIRING_REQUIRED"]);

export function SignIn() {
  const why = refusal.value;
  const kind = why?.details?.code ?? "";
  const waits = pairing.value !== null && WAITING.has(kind);
  return (
    <main class="centred">
      <div class="card sign-in">
        <h1>Roost</h1>
        {why && !SILENT.has(kind) && (
          <p class="problem" role="alert">
            {WORDS[kind] ?? why.message}
          </p>
        )}
        {waits ? <Waits /> : <Token />}
      </div>
    </main>
  );
}

function Token() {
  const [token, setToken] = useState("");
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim()) signIn(token);
        }}
      >
        <label for="token">The gateway's token or password</label>
        <input id="token" type="password" autocomplete="current-password" autofocus value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        <p class="quiet">
          The gateway says where its token is when it starts; by default in <code>gateway.token</code> in its folder.
        </p>
        <button type="submit" class="primary" disabled={!token.trim()}>
          Sign in
        </button>
      </form>
      {canPair() && (
        <div class="or">
          <p class="quiet">No token at hand? A device that is already in can let this one in.</p>
          <button type="button" onClick={() => askToPair()}>
            Pair this browser
          </button>
        </div>
      )}
    </>
  );
}

function Waits() {
  const [code, setCode] = useState("");
  useEffect(() => {
    const timer = window.setInterval(() => {
      if (!document.activeElement?.closest(".code")) askToPair();
    }, AGAIN_MS);
    return () => window.clearInterval(timer);
  }, []);
  return (
    <>
      <p role="status">
        <span class="pulse" /> This browser asks to be let in.
      </p>
      <p class="quiet">
        Approve it under Operations → Devices on a device that is in, or with <code>roost devices approve</code>.
      </p>
      <form
        class="code"
        onSubmit={(event) => {
          event.preventDefault();
          if (code.trim()) askToPair(code.trim().toUpperCase());
        }}
      >
        <label for="code">Or type the code that is shown there</label>
        <input id="code" autocomplete="one-time-code" spellcheck={false} maxLength={8} value={code} onInput={(event) => setCode(event.currentTarget.value)} />
        <button type="submit" disabled={!code.trim()}>
          Use the code
        </button>
      </form>
    </>
  );
}
