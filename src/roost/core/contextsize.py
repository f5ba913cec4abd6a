"""How large a context is: what its provider counted last, and an estimate of what came since."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from roost.core.cutnotes import is_cut_note, projection_of
from roost.core.entries import Entry
from roost.core.messages import AssistantMessage, Message, StopReason
from roost.core.models import ToolSpec
from roost.core.pruning import chars_of, project
from roost.core.tokens import estimate, estimate_message
from roost.core.transcript import Prompt, active, build_prompt

STANDING_TEXTS = 64
_standing: Callable[[str], int] = lru_cache(STANDING_TEXTS)(estimate)


def overhead_tokens(system: str, tools: Sequence[ToolSpec]) -> int:
    """What stands before every conversation: the system text and the descriptions of the tools."""
    return _standing(system) + sum([_standing(tool.words) for tool in tools])


def known_tokens(entries: Sequence[Entry]) -> int | None:
    """The context by its provider's count; None where the newest call was not counted, or was of another view."""
    since = 0
    for entry in reversed(entries[active(entries).after :]):
        body = entry.body
        if is_cut_note(body):
            return None
        if isinstance(body, AssistantMessage) and body.stop not in (StopReason.ABORTED, StopReason.ERROR):
            return body.usage.total + since if body.usage.total else None
        if isinstance(body, Message):
            since += estimate_message(body)
    return None


def shown(entries: Sequence[Entry]) -> Prompt:
    """The context as it is shown, cut where it was pruned."""
    return build_prompt(project(entries, projection_of(entries)))


def context_chars(entries: Sequence[Entry]) -> int:
    """The size of the transcript that is still in the context."""
    context = entries[active(entries).start :]
    return sum([chars_of(entry.body) for entry in context if isinstance(entry.body, Message)])
