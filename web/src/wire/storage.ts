// What the browser remembers for this origin. Where it may not, or has no room, the page remembers it while it is open.

const held = new Map<string, string>();

export function recall(name: string): string | null {
  return held.get(name) ?? stored(() => localStorage.getItem(name)) ?? null;
}

export function remember(name: string, text: string): void {
  held.set(name, text);
  stored(() => {
    localStorage.setItem(name, text);
    held.delete(name);
  });
}

export function forget(name: string): void {
  held.delete(name);
  stored(() => localStorage.removeItem(name));
}

/** The names that begin so. */
export function remembered(beginning: string): string[] {
  const names = new Set([...held.keys(), ...(stored(() => Object.keys(localStorage)) ?? [])]);
  return [...names].filter((name) => name.startsWith(beginning));
}

function stored<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}
