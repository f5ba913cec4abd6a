const BEFORE = 40;

function wordsIn(text: string): string[] {
  return text.replaceAll('"', " ").split(/\s+/).filter(Boolean);
}

/** A text from shortly before the first of the words. */
export function around(text: string, words: string): string {
  const lower = text.toLowerCase();
  const first = Math.min(...wordsIn(words).map((word) => lower.indexOf(word.toLowerCase())).filter((at) => at >= 0), Infinity);
  return first > BEFORE && first < Infinity ? `…${text.slice(first - BEFORE)}` : text;
}

/** A text with the words that were searched for set off. */
export function Marked({ text, words }: { text: string; words: string }) {
  const wanted = wordsIn(words).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (wanted.length === 0) return <>{text}</>;
  const parts = text.split(new RegExp(`(${wanted.join("|")})`, "giu"));
  return <>{parts.map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part))}</>;
}
