import { useState } from "preact/hooks";
import { signOut } from "../../state/gateway";
import { Shown, useAsked } from "./asked";

interface Config {
  path: string;
  exists: boolean;
  config: Record<string, unknown>;
  hash: string;
}

interface Line {
  path: string;
  value: string;
}

function linesOf(value: unknown, path: string): Line[] {
  if (typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([name, part]) => linesOf(part, path ? `${path}.${name}` : name));
  }
  return [{ path, value: typeof value === "string" ? value : JSON.stringify(value) }];
}

/** What is in force, without its secrets. */
export function Configuration() {
  const asked = useAsked<Config>("config.get");
  const [words, setWords] = useState("");
  return (
    <Shown asked={asked}>
      {(found) => (
        <>
          <p class="quiet">
            {found.exists ? <code>{found.path}</code> : "There is no file: the defaults hold."} Change a setting with <code>roost config set PATH VALUE</code>; the running
            gateway takes it over.
          </p>
          <div class="row">
            <input class="grow" type="search" placeholder="Filter settings" aria-label="Filter settings" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
            <button type="button" onClick={signOut}>
              Sign this browser out
            </button>
          </div>
          <table class="settings">
            <thead>
              <tr>
                <th scope="col">Setting</th>
                <th scope="col">In force</th>
              </tr>
            </thead>
            <tbody>
              {linesOf(found.config, "")
                .filter((line) => `${line.path} ${line.value}`.toLowerCase().includes(words.toLowerCase()))
                .map((line) => (
                  <tr key={line.path}>
                    <td>
                      <code>{line.path}</code>
                    </td>
                    <td>
                      <code>{line.value}</code>
                    </td>
                  </tr>
                ))}
            </tbody>
          </table>
        </>
      )}
    </Shown>
  );
}
