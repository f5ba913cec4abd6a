"""What a model wrote for people, without what leaked from its machinery: tool calls, reasoning, control tokens.

Every filter looks at prose only: fenced and inline code passes untouched, unless it lies inside a block that is
removed. Each filter is one pass over the text. Redaction and caps are elsewhere.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeAlias

from roost.core.codespans import mask_code
from roost.core.sentinels import is_silent, strip_trailing

Cut: TypeAlias = tuple[int, int | None, str]
"""From where, to where (None: to the end, since it never closes), and what stands there instead."""


def clean(text: str) -> str:
    """The prose of an assistant's text as it is recalled, empty when nothing was said; a text without leaks as it is."""
    return _prose(text, _LEAKS)


def answer(text: str) -> str:
    """The same for whoever is answered: rather a leak is shown than a line lost that may be meant for them."""
    return _prose(text, _SURE_LEAKS)


def unleaked(text: str) -> str:
    """An answer in which a word that asks for silence stands."""
    return _without(text, _SURE_LEAKS) if _may_leak(text) else text


def _prose(text: str, leaks: "Iterable[_Filter]") -> str:
    if is_silent(text):
        return ""
    if not _may_leak(text) and strip_trailing(text) == text:
        return text
    kept = _without(text, (*leaks, _trailing_sentinel))
    return "" if is_silent(kept) else kept


def _without(text: str, filters: "Iterable[_Filter]") -> str:
    original = _Draft(text, mask_code(text))
    draft = original
    for cuts in filters:
        draft = draft.without(cuts(draft))
    return text if draft is original else _tidy(draft)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A text and its prose: the same text with code masked, position for position."""

    text: str
    prose: str

    def without(self, cuts: Iterable[Cut]) -> "_Draft":
        text: list[str] = []
        prose: list[str] = []
        done = 0
        for start, to, instead in cuts:
            text += (self.text[done:start], instead)
            prose += (self.prose[done:start], instead)
            done = len(self.prose) if to is None else to
        if not done:
            return self
        return _Draft("".join(text) + self.text[done:], "".join(prose) + self.prose[done:])


def _may_leak(text: str) -> bool:
    if ("<" in text or "[" in text) and _MARK.search(text):
        return True
    if "{" in text and "to=" in text.lower():
        return True
    return _may_trace(text) and _TRACE_LINE.search(text) is not None


# How everything begins that a filter looks for in brackets: links and markup of ordinary prose pass at once.
_MARK = re.compile(
    r"(?i)<(?:[]|｜]|/?\s*(?:[\w-]{1,32}:)?(?:relevant|tool|function|invoke|parameter|think|thought|antthink|final))"
    r"|\[(?:/?tool|historical)"
)


def _tidy(draft: _Draft) -> str:
    """Close the gaps that cuts left."""
    draft = draft.without((gap.start(), gap.end(), "\n\n") for gap in _GAP.finditer(draft.prose))
    start = len(draft.prose) - len(draft.prose.lstrip())
    return draft.text[start : len(draft.prose.rstrip())]


_GAP = re.compile(r"\n{3,}")


class _Role(Enum):
    OPENS = auto()
    CLOSES = auto()
    EMPTY = auto()
    MENTIONED = auto()


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    name: str
    role: _Role


def _blocks(tags: Iterable[_Tag]) -> Iterator[Cut]:
    """From each opening tag to the first closing one of its name, or to the end; and stray tags."""
    opened: _Tag | None = None
    mentioned: set[str] = set()
    for tag in tags:
        if opened is not None:
            if tag.role is _Role.CLOSES and tag.name == opened.name:
                yield opened.start, tag.end, ""
                opened = None
        elif tag.role is _Role.OPENS:
            opened = tag
        elif tag.role is _Role.MENTIONED:
            mentioned.add(tag.name)
        elif tag.role is _Role.EMPTY or tag.name not in mentioned:
            yield tag.start, tag.end, ""
    if opened is not None:
        yield opened.start, None, ""


def _markers(pattern: re.Pattern[str]) -> Callable[[_Draft], Iterator[Cut]]:
    """A filter that takes out whatever a pattern finds."""
    return lambda draft: ((found.start(), found.end(), "") for found in pattern.finditer(draft.prose))


_PAYLOAD = re.compile(
    r"""\s*(?:\{\s*(?:["'}\w]|\Z)|\[\s*(?:[\[{"\]]|\Z)|</?[A-Za-z]|[\w.-]{1,64}\s*<arg_key>)"""
)

_MINIMAX_TOKEN = re.compile(r"(?i)\]<\]minimax\[>\[")
_MINIMAX_MARK = re.compile(r"(?i)</?minimax:tool_call\b")
_MINIMAX_TAG = re.compile(r"(?i)<(?P<close>/?)(?P<name>invoke|minimax:tool_call)\b[^<>\0]*>")


def _minimax(draft: _Draft) -> Iterator[Cut]:
    if _MINIMAX_MARK.search(draft.prose):
        yield from _blocks(map(_minimax_tag, _MINIMAX_TAG.finditer(draft.prose)))


def _minimax_tag(tag: re.Match[str]) -> _Tag:
    """The wrapper's end also ends a call that never closed."""
    opening = _Role.OPENS if tag["name"].lower() == "invoke" else _Role.EMPTY
    return _Tag(tag.start(), tag.end(), "invoke", _Role.CLOSES if tag["close"] else opening)


_CONTROL = re.compile(r"(?:<\|[^|<>\s\0][^|<>\n\0]{0,127}\|>|<｜[^｜<>\n\0]{1,128}｜>)+")


def _control_tokens(draft: _Draft) -> Iterator[Cut]:
    for token in _CONTROL.finditer(draft.prose):
        start, end = token.span()
        glued = draft.prose[max(start - 1, 0) : start].isalnum() and draft.prose[end : end + 1].isalnum()
        yield start, end, " " if glued else ""


_MEMORIES = re.compile(r"(?i)<(?P<close>/?)\s*relevant[-_]memories\b[^<>\0]*>")


def _memories(draft: _Draft) -> Iterator[Cut]:
    tags = (
        _Tag(tag.start(), tag.end(), "", _Role.CLOSES if tag["close"] else _Role.OPENS)
        for tag in _MEMORIES.finditer(draft.prose)
    )
    return _blocks(tags)


_TOOL_TAG = re.compile(
    r"(?i)<(?P<close>/?)\s*(?:[\w-]{1,32}:)?"
    r"(?P<name>tool_calls?|function_calls?|function|tool_results?|function_responses?|invoke)(?=[\s=/>])(?P<rest>[^<>\0]*)>"
)


def _tool_xml(draft: _Draft) -> Iterator[Cut]:
    return _blocks(map(_tool_tag, _TOOL_TAG.finditer(draft.prose)))


def _tool_tag(tag: re.Match[str]) -> _Tag:
    """Singular and plural close each other; a tag that no payload follows is only being talked about."""
    if tag["close"]:
        role = _Role.CLOSES
    elif tag["rest"].endswith("/"):
        role = _Role.EMPTY
    else:
        role = _Role.OPENS if _PAYLOAD.match(tag.string, tag.end()) else _Role.MENTIONED
    return _Tag(tag.start(), tag.end(), tag["name"].lower().removesuffix("s"), role)


_PLACEHOLDER = re.compile(r"[ \t]+<[A-Za-z]")


def _surely_tool_xml(draft: _Draft) -> Iterator[Cut]:
    """The same, but `<function> <name>` in a line that says how something is called is no call that never closed."""
    found = list(_TOOL_TAG.finditer(draft.prose))
    last_close = {tag.name: tag.start for tag in map(_tool_tag, found) if tag.role is _Role.CLOSES}

    def judged(match: re.Match[str]) -> _Tag:
        tag = _tool_tag(match)
        is_bare = not match["rest"].strip() and _PLACEHOLDER.match(draft.prose, tag.end) is not None
        is_talk = tag.role is _Role.OPENS and is_bare and last_close.get(tag.name, -1) < tag.start
        return replace(tag, role=_Role.MENTIONED) if is_talk else tag

    return _blocks(map(judged, found))


_PARAMETER = re.compile(r"(?i)<(?P<close>/?)\s*(?:[\w-]{1,32}:)?parameter\b[^<>\0]*>")


def _parameters(draft: _Draft) -> Iterator[Cut]:
    """Unwrap what stands between a pair of tags."""
    opened: re.Match[str] | None = None
    for tag in _PARAMETER.finditer(draft.prose):
        if not tag["close"]:
            opened = tag
        elif opened is not None:
            yield opened.start(), opened.end(), ""
            yield tag.start(), tag.end(), ""
            opened = None


_TRACE_LINE = re.compile(
    r"(?im)^[ \t]*(?:[\u2300-\u2bff\U0001f000-\U0001faff]\ufe0f?[ \t]*(?:[a-z0-9]{1,32}(?:_[a-z0-9]{1,32}){1,8}"
    r"|bash|browser|canvas|cron|edit|exec|fetch|grep|process|read|shell|write)"
    r"|(?:tool|function)[ _-]?(?:call|result|response))[ \t]*[:=][^\n]*\n?"
)


def _may_trace(text: str) -> bool:
    if ":" not in text and "=" not in text:
        return False
    return not text.isascii() or "tool" in (folded := text.lower()) or "function" in folded


def _trace_lines(draft: _Draft) -> Iterator[Cut]:
    if _may_trace(draft.prose):
        yield from _markers(_TRACE_LINE)(draft)


_BRACKET_TAG = re.compile(r"(?i)\[(?P<close>/?)(?P<name>TOOL_(?:CALL|RESULT))S?\]")


def _bracket_blocks(draft: _Draft) -> Iterator[Cut]:
    found = list(_BRACKET_TAG.finditer(draft.prose))
    last_close = {tag["name"].lower(): tag.start() for tag in found if tag["close"]}
    return _blocks(_bracket_tag(tag, last_close) for tag in found)


def _bracket_tag(tag: re.Match[str], last_close: dict[str, int]) -> _Tag:
    """A block opens with a payload, or on a line of its own if it is closed later."""
    name = tag["name"].lower()
    closed = tag.string.startswith("\n", tag.end()) and last_close.get(name, 0) > tag.start()
    opens = closed or _PAYLOAD.match(tag.string, tag.end())
    role = _Role.CLOSES if tag["close"] else _Role.OPENS if opens else _Role.MENTIONED
    return _Tag(tag.start(), tag.end(), name, role)


_PLAIN_CALL = re.compile(
    r"(?i)(?:\[tool:[ \t]*[\w.-]{1,64}\]|(?:\b(?:assistant|analysis|commentary)\s+){0,3}"
    r"\bto=[a-z_][\w.-]{0,127}(?:\s+(?:json|code|commentary)){0,2})\s*(?=\{)"
)


def _plain_calls(draft: _Draft) -> Iterator[Cut]:
    done = 0
    for call in _PLAIN_CALL.finditer(draft.prose):
        if call.start() >= done:
            done = _json_end(draft.text, call.end())
            yield call.start(), done, ""


_JSON_TOKEN = re.compile(r'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|[{}\[\]]')


def _json_end(text: str, start: int) -> int:
    """Where the JSON object that starts here ends; the end of the text when it never does."""
    depth = 0
    for token in _JSON_TOKEN.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth <= 0:
            return token.end()
    return len(text)


_SCAFFOLD = re.compile(
    r"(?i)\[(?:(?P<kind>Tool Call|Tool Result)\b[^\[\]\n\0]*|Historical context\b[^\[\]\0]*)\]"
)
_ARGUMENTS = re.compile(r"(?i)\s*Arguments:\s*(?=\{)")
_NEXT_TOOL = re.compile(r"(?i)\[Tool ")


def _scaffolding(draft: _Draft) -> Iterator[Cut]:
    done = 0
    for mark in _SCAFFOLD.finditer(draft.prose):
        if mark.start() >= done:
            end = _scaffold_end(draft, mark)
            yield mark.start(), end, ""
            done = len(draft.prose) if end is None else end


def _scaffold_end(draft: _Draft, mark: re.Match[str]) -> int | None:
    match mark["kind"]:
        case None:
            return mark.end()
        case kind if kind.lower() == "tool call":
            arguments = _ARGUMENTS.match(draft.prose, mark.end())
            return _json_end(draft.text, arguments.end()) if arguments else mark.end()
        case _:
            following = _NEXT_TOOL.search(draft.prose, mark.end())
            return following.start() if following else None


_THINK_TAG = re.compile(
    r"(?i)<(?P<close>/?)\s*(?:[\w-]{1,32}:)?(?:think|thinking|thought|antthinking)"
    r"(?P<rest>(?:\s+[\w:-]{1,32}=[^<>\0]*)?\s*/?)>"
)
_LINE_ENDS = re.compile(r"[ \t]*\n\s*\S")


def _thinking(draft: _Draft) -> Iterator[Cut]:
    """Reasoning blocks. A closing tag alone ends reasoning whose beginning the model's template swallowed."""
    opened: int | None = None
    done = 0
    for tag in _THINK_TAG.finditer(draft.prose):
        if not tag["close"] and not tag["rest"].endswith("/"):
            opened = tag.start() if opened is None else opened
            continue
        if opened is None:
            orphan = tag["close"] and (done or _LINE_ENDS.match(draft.prose, tag.end()))
            opened = done if orphan else tag.start()
        if tag["close"] or opened == tag.start():
            yield opened, tag.end(), ""
            opened, done = None, tag.end()
    if opened is not None:
        yield opened, None, ""


_FINAL_TAG = re.compile(r"(?i)</?final\s*/?>")


def _trailing_sentinel(draft: _Draft) -> Iterator[Cut]:
    kept = len(strip_trailing(draft.prose))
    if kept < len(draft.prose):
        yield kept, len(draft.prose), ""


_Filter: TypeAlias = Callable[[_Draft], Iterable[Cut]]


def _sure(leaks: _Filter) -> _Filter:
    """A filter that takes what never closes for a leak only if it begins a line: else it may be talked about."""

    def cuts(draft: _Draft) -> Iterator[Cut]:
        done = 0
        for cut in leaks(draft):
            start, to, _ = cut
            if to is None and draft.prose[done:start].rpartition("\n")[2].strip():
                continue
            yield cut
            done = start if to is None else to

    return cuts


_LEAKS: tuple[_Filter, ...] = (
    _markers(_MINIMAX_TOKEN),
    _minimax,
    _control_tokens,
    _memories,
    _tool_xml,
    _parameters,
    _trace_lines,
    _bracket_blocks,
    _plain_calls,
    _scaffolding,
    _thinking,
    _markers(_FINAL_TAG),
)

_TALKED_ABOUT = (_memories, _scaffolding, _thinking)
_SURE_LEAKS: tuple[_Filter, ...] = tuple(
    _sure(one) if one in _TALKED_ABOUT else _surely_tool_xml if one is _tool_xml else one
    for one in _LEAKS
    if one is not _trace_lines
)
