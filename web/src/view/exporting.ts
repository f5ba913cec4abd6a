// A session as a Markdown file, read from the gateway and written by the browser.

import { itemsOf, merged } from "../state/items";
import { pageOf } from "../state/past";
import { type MessageRow, type SessionRow, titleOf } from "../wire/shapes";
import { momentOf } from "./words";

const PAGE = 1_000;

export async function exportSession(row: SessionRow): Promise<void> {
  const rows = await whole(row.key);
  const text = [`# ${titleOf(row)}`, `Session \`${row.key}\``, ...itemsOf(rows, []).map(lineOf)].join("\n\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/markdown" }));
  link.download = `${row.key.replace(/[^\w.-]+/g, "-")}.md`;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function whole(key: string): Promise<MessageRow[]> {
  let rows: MessageRow[] = [];
  let before: string | null = null;
  do {
    const page = await pageOf(key, PAGE, before);
    rows = merged(page.rows, rows);
    before = page.older;
  } while (before);
  return rows;
}

function lineOf(item: ReturnType<typeof itemsOf>[number]): string {
  if (item.kind === "mark") return `---\n\n*${item.text} (${item.why})*`;
  if (item.kind !== "said") return "";
  const who = item.who === "agent" ? "Agent" : (item.from ?? "You");
  const tools = item.tools.map((tool) => `    ${tool.name ?? ""} ${JSON.stringify(tool.arguments)}`);
  return [`**${who}**${item.at ? ` · ${momentOf(item.at)}` : ""}`, item.text, ...tools].filter(Boolean).join("\n\n");
}
