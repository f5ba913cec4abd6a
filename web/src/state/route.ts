// Where the page is: one of its places, in the fragment of the address.

import { signal } from "@preact/signals";

export type Place =
  | { at: "chat"; key: string; message?: string }
  | { at: "tree"; key: string }
  | { at: "operations"; part: string };

const OPERATIONS = "runs";

export const place = signal<Place>(read());
export const sidebarOpen = signal(false);

function read(): Place {
  const [at = "", one = "", two] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  if (at === "tree") return { at, key: one };
  if (at === "operations") return { at, part: one || OPERATIONS };
  return { at: "chat", key: at === "chat" ? one : "", ...(two ? { message: two } : {}) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function hrefOf(to: Place): string {
  const parts = to.at === "operations" ? [to.part] : to.at === "tree" ? [to.key] : [to.key, to.message];
  return `#/${[to.at, ...parts].filter((part) => part !== undefined).map((part) => encodeURIComponent(part)).join("/")}`;
}

export function go(to: Place): void {
  location.hash = hrefOf(to);
}

/** The same place, spelt in another way. */
export function respell(to: Place): void {
  location.replace(hrefOf(to));
}

window.addEventListener("hashchange", () => {
  sidebarOpen.value = false;
  place.value = read();
});
