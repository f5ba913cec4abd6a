// Markdown as nodes. Nothing reaches the page that was not sanitised; pictures become links, so that nothing is fetched.

import DOMPurify from "dompurify";
import { Lexer, Marked, type Token, type Tokens } from "marked";

const TAGS = ["a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "input", "li", "mark", "ol", "p", "pre", "span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"];
/** Their values are no addresses. */
const PLAIN = ["start", "checked", "align"];
const ATTRIBUTES = ["href", "class", ...PLAIN];
const CLASSES = /^(?:hljs[\w-]*|language-[\w+#.-]+|function_|class_|inherited__)$/;
const LINKS = /^(?:https?:|mailto:)/i;

const escape = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const marked = new Marked({ gfm: true, breaks: true });
marked.use({
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escape(text),
    image: ({ href, text }: Tokens.Image) => `<a href="${escape(href)}">${escape(text || href)}</a>`,
  },
});

const purifier = DOMPurify(window);
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  if (node.tagName === "INPUT") {
    node.setAttribute("type", "checkbox");
    node.setAttribute("disabled", "");
    node.setAttribute("aria-label", node.hasAttribute("checked") ? "done" : "open");
  }
  const classes = [...node.classList].filter((name) => CLASSES.test(name));
  if (classes.length > 0) node.className = classes.join(" ");
  else node.removeAttribute("class");
});

/** The one place where text becomes markup. */
export function sanitised(html: string): DocumentFragment {
  return purifier.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ADD_URI_SAFE_ATTR: PLAIN,
    ALLOWED_URI_REGEXP: LINKS,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}

interface Drawn {
  raw: string;
  nodes: ChildNode[];
}

/** A text that may grow: only the blocks that changed are drawn anew. */
export class Drawing {
  #drawn: Drawn[] = [];
  #text = "";

  constructor(private readonly host: HTMLElement) {}

  draw(text: string): void {
    if (text === this.#text) return;
    this.#text = text;
    const tokens = new Lexer(marked.defaults).lex(text);
    const links = tokens.links;
    const blocks = tokens.filter((token) => token.type !== "space");
    blocks.forEach((token, index) => {
      if (this.#drawn[index]?.raw !== token.raw) this.#put(index, token, links);
    });
    for (const gone of this.#drawn.splice(blocks.length)) gone.nodes.forEach((node) => node.remove());
  }

  #put(index: number, token: Token, links: Tokens.Generic["links"]): void {
    const list = Object.assign([token], { links: links ?? {} });
    const part = sanitised(marked.parser(list));
    decorate(part);
    const nodes = [...part.childNodes];
    const before = this.#drawn[index];
    const next = before?.nodes.at(-1)?.nextSibling ?? null;
    before?.nodes.forEach((node) => node.remove());
    this.host.insertBefore(part, next);
    this.#drawn[index] = { raw: token.raw, nodes };
  }
}

function decorate(part: DocumentFragment): void {
  for (const table of part.querySelectorAll("table")) {
    const frame = document.createElement("div");
    frame.className = "table-frame";
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "Table");
    table.replaceWith(frame);
    frame.append(table);
  }
  for (const code of part.querySelectorAll<HTMLElement>("pre > code")) {
    const block = code.parentElement as HTMLElement;
    block.tabIndex = 0;
    const language = /language-(\S+)/.exec(code.className)?.[1];
    if (language) void highlight(code, language);
  }
}

async function highlight(code: HTMLElement, language: string): Promise<void> {
  const { default: highlighter } = await import("highlight.js/lib/common");
  if (!highlighter.getLanguage(language)) return;
  const { value } = highlighter.highlight(code.textContent ?? "", { language, ignoreIllegals: true });
  code.replaceChildren(sanitised(value));
}
