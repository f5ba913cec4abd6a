"""What a session row remembers of its transcript, worked out entry by entry as it is written."""

from collections.abc import Sequence

from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    ProvenanceKind,
    Usage,
    UserMessage,
    text_of,
)
from roost.core.prose import clean
from roost.core.sessions import Counters, Summary

_WORD = "".join(map(chr, range(0x21, 0x7F)))

TITLE_CHARS = 80
PREVIEW_CHARS = 200
CLEANED_CHARS = 4_000


def summarise(summary: Summary, bodies: Sequence[Body]) -> Summary:
    """The summary after more entries. Title: what was asked first; preview: what a person or the agent said last."""
    title, preview, model = summary.title, "", summary.model
    for body in reversed(bodies):
        preview = preview or _line(_public_text(body), PREVIEW_CHARS)
    for body in bodies:
        if isinstance(body, AssistantMessage):
            model = _model(body) or model
        elif title is None and isinstance(body, UserMessage):
            title = _line(text_of(body), TITLE_CHARS) or None
    return Summary(
        title=title,
        preview=preview or summary.preview,
        entries=summary.entries + len(bodies),
        model=model,
    )


def count(counters: Counters, bodies: Sequence[Body]) -> Counters:
    """The counters after more entries; `total` is the context the newest call saw."""
    for body in bodies:
        if isinstance(body, AssistantMessage):
            counters = _add(counters, body.usage)
        elif isinstance(body, Compaction):
            total = counters.total if body.tokens_after is None else body.tokens_after
            counters = counters._replace(compactions=counters.compactions + 1, total=total)
    return counters


def _add(counters: Counters, usage: Usage) -> Counters:
    return Counters(
        input=counters.input + usage.input,
        output=counters.output + usage.output,
        total=usage.total or counters.total,
        context_window=counters.context_window,
        cache_read=counters.cache_read + usage.cache_read,
        cache_write=counters.cache_write + usage.cache_write,
        cost_micros=counters.cost_micros + usage.cost_micros,
        compactions=counters.compactions,
    )


def _public_text(body: Body) -> str:
    """What people say or are told, as far as a line of it may need. What the gateway, other sessions and services put into
    a conversation is for the agent."""
    match body:
        case AssistantMessage():
            return clean(text_of(body)[:CLEANED_CHARS])
        case UserMessage(provenance=provenance) if provenance.kind is ProvenanceKind.HUMAN:
            return text_of(body)
        case _:
            return ""


def _line(text: str, chars: int) -> str:
    """The beginning of a text on one line. A word is not cut: half a credential would not be recognised."""
    head = text[:chars]
    if len(text) > chars and not text[chars].isspace():
        head = head.rstrip(_WORD)
    return " ".join(head.replace("\0", " ").split())  # not every database can hold that one


def _model(message: AssistantMessage) -> str | None:
    if message.provider and message.model:
        return f"{message.provider}/{message.model}"
    return message.model or message.provider or None
