"""Making a prompt fit a budget: always, without a model, and the same way each time.

The ladder: drop old payloads (tool results, arguments, images); leave out the oldest messages; only when the
last turns alone are too large, shorten those. What is left out is left out of this prompt only.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import compact
from roost.core.messages import (
    AssistantBlock,
    AssistantMessage,
    Image,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserBlock,
    UserMessage,
    text_of,
)
from roost.core.tokens import CALL_TOKENS, MESSAGE_TOKENS, estimate, estimate_message, truncate
from roost.core.transcript import OPENING, Prompt, TranscriptUnit, gateway_message, last_turns, unread

KEEP_TURNS = 3
MIN_BUDGET = 128
DROPPED = "[tool result left out to save space]"
IMAGE_DROPPED = "[image left out to save space]"

# What a shortened part still has: room for the note of a cut and a few words.
_LEAST = 24
_NOTE_TOKENS = MESSAGE_TOKENS + estimate(OPENING)

_Answer = TypeVar("_Answer", UserMessage, ToolResult)


def unit_tokens(unit: TranscriptUnit) -> int:
    return sum(estimate_message(message) for message in unit.messages)


def prompt_tokens(prompt: Prompt) -> int:
    """The tokens of every message; system texts and tool descriptions come on top."""
    return sum(estimate_message(message) for message in prompt.messages)


def fit(prompt: Prompt, budget: int, *, keep_turns: int = KEEP_TURNS) -> Prompt:
    """The prompt in at most `budget` tokens.

    The last `keep_turns` turns, and one that is not answered yet, are the same messages, unless they alone exceed the
    budget. A prompt that fits is returned as it is.
    """
    if budget < MIN_BUDGET:
        raise InvalidInput(
            f"a prompt cannot fit {budget} tokens",
            hint=f"use a model whose window leaves at least {MIN_BUDGET}",
        )
    if prompt_tokens(prompt) <= budget:
        return prompt
    is_answered = unread(prompt.units) == len(prompt.units)
    start = last_turns(prompt.units, keep_turns if is_answered else max(keep_turns, 1))
    head = tuple(_without_payload(unit) for unit in prompt.units[:start])
    tail = prompt.units[start:]
    bare = replace(prompt, units=head + tail)
    if prompt_tokens(bare) <= budget:
        return bare
    room = budget - sum(unit_tokens(unit) for unit in tail)
    if room >= _NOTE_TOKENS or (room >= 0 and _opens(tail)):
        return _cut(prompt.preface, head, tail, room)
    return _shortened(prompt.preface, tail, budget)


def _opens(units: Sequence[TranscriptUnit]) -> bool:
    return bool(units) and isinstance(units[0].message, UserMessage)


# -- leaving out -------------------------------------------------------------------------------------


def _cut(
    preface: tuple[UserMessage, ...],
    head: Sequence[TranscriptUnit],
    tail: Sequence[TranscriptUnit],
    room: int,
) -> Prompt:
    """The tail whole, and before it what there is room for: the preface first, then the newest of the head."""
    room -= _NOTE_TOKENS
    opening = _clamped(preface, room)
    room -= sum(estimate_message(message) for message in opening)
    kept = len(head)
    while kept and (cost := unit_tokens(head[kept - 1])) <= room:
        room -= cost
        kept -= 1
    units = (*head[kept:], *tail)
    if room >= 0 and (kept or (not opening and (preface or not _opens(units)))):
        opening = _noted(opening, units)
    return Prompt(preface=opening, units=units)


def _noted(opening: tuple[UserMessage, ...], units: Sequence[TranscriptUnit]) -> tuple[UserMessage, ...]:
    if any(message.content == (Text(OPENING),) for message in opening):
        return opening
    return (*opening, gateway_message(OPENING, units[0].message.at if units else 0))


def _clamped(preface: tuple[UserMessage, ...], room: int) -> tuple[UserMessage, ...]:
    if sum(estimate_message(message) for message in preface) <= room:
        return preface
    if room < MESSAGE_TOKENS + _LEAST:
        return ()
    text = "\n".join(text_of(message) for message in preface)
    return (gateway_message(truncate(text, room - MESSAGE_TOKENS), preface[0].at),)


def _without_payload(unit: TranscriptUnit) -> TranscriptUnit:
    """The unit without what tools were given and gave back, and without images."""
    results = tuple(_bare_result(result) for result in unit.results)
    message: UserMessage | AssistantMessage
    if isinstance(unit.message, UserMessage):
        message = replace(unit.message, content=tuple(_imageless(block) for block in unit.message.content))
    else:
        message = replace(
            unit.message, content=tuple(_bare_call(block, _LEAST) for block in unit.message.content)
        )
    return unit._replace(message=message, results=results)


def _bare_result(result: ToolResult) -> ToolResult:
    dropped = replace(result, content=(Text(DROPPED),))
    return dropped if estimate_message(dropped) < estimate_message(result) else result


def _imageless(block: UserBlock) -> UserBlock:
    return Text(IMAGE_DROPPED) if isinstance(block, Image) else block


def _bare_call(block: AssistantBlock, level: int) -> AssistantBlock:
    if not isinstance(block, ToolCall):
        return block
    arguments = compact(block.arguments)
    if estimate(arguments) <= level:
        return block
    return replace(block, arguments={"omitted": f"{len(arguments)} characters"})


# -- shortening --------------------------------------------------------------------------------------


def _shortened(preface: tuple[UserMessage, ...], tail: Sequence[TranscriptUnit], budget: int) -> Prompt:
    # A preface is never lost here: a quarter of the smallest budget holds a shortened one.
    opening = _clamped(preface, budget // 4)
    room = budget - sum(estimate_message(message) for message in opening)
    units = _oldest_bare(tail, room) or _levelled(tail, room)
    if units is None:
        if not opening:
            opening = _noted((), tail)
            room -= _NOTE_TOKENS
        units = _newest_levelled(tail, room)
    return Prompt(preface=opening, units=units)


def _oldest_bare(units: Sequence[TranscriptUnit], room: int) -> tuple[TranscriptUnit, ...] | None:
    """The units with as many payloads dropped as needed, oldest first and never the newest unit's."""
    shown = list(units)
    total = sum(unit_tokens(unit) for unit in units)
    for index in range(len(shown) - 1):
        if total <= room:
            break
        bare = _without_payload(shown[index])
        total -= unit_tokens(shown[index]) - unit_tokens(bare)
        shown[index] = bare
    return tuple(shown) if total <= room else None


def _parts(message: Message) -> tuple[int, list[int]]:
    """What a message costs at least, and the sizes of the parts that can be shortened."""
    if not isinstance(message, AssistantMessage):
        framing = MESSAGE_TOKENS + (CALL_TOKENS if isinstance(message, ToolResult) else 0)
        return framing, [estimate_message(message) - framing]
    calls = [block for block in message.content if isinstance(block, ToolCall)]
    framing = MESSAGE_TOKENS + sum(CALL_TOKENS + estimate(call.name) for call in calls)
    arguments = [estimate(compact(call.arguments)) for call in calls]
    return framing, [estimate_message(message) - framing - sum(arguments), *arguments]


def _unit_parts(unit: TranscriptUnit) -> tuple[int, list[int]]:
    parts = [_parts(message) for message in unit.messages]
    return sum(framing for framing, _ in parts), [size for _, sizes in parts for size in sizes]


def _least(unit: TranscriptUnit) -> int:
    framing, sizes = _unit_parts(unit)
    return framing + sum(min(size, _LEAST) for size in sizes)


def level_of(sizes: Sequence[int], room: int) -> int:
    """The highest level to which every larger part can be cut so that all fit the room."""
    ordered = sorted(sizes)
    below = [0, *accumulate(ordered)]
    count = len(ordered)
    # The parts before the first one that does not fit at its own height stay whole.
    first = bisect_left(range(count), True, key=lambda i: below[i] + ordered[i] * (count - i) > room)
    return (room - below[first]) // (count - first) if first < count else ordered[-1]


def _levelled(units: Sequence[TranscriptUnit], room: int) -> tuple[TranscriptUnit, ...] | None:
    """Every unit, the largest parts shortened to one height; None if even the least does not fit."""
    if sum(_least(unit) for unit in units) > room:
        return None
    parts = [_unit_parts(unit) for unit in units]
    sizes = [size for _, unit_sizes in parts for size in unit_sizes]
    level = level_of(sizes, room - sum(framing for framing, _ in parts))
    return tuple(_at_level(unit, level) for unit in units)


def _newest_levelled(units: Sequence[TranscriptUnit], room: int) -> tuple[TranscriptUnit, ...]:
    """The newest units that fit, shortened, with the last user message before them if it is not among them."""
    asked = max(
        (index for index, unit in enumerate(units) if isinstance(unit.message, UserMessage)), default=None
    )
    question = () if asked is None else (units[asked],)
    costs = [_least(unit) for unit in units]
    start = len(units)
    total = sum(_least(unit) for unit in question)
    while start and (cost := 0 if start - 1 == asked else costs[start - 1]) + total <= room:
        total += cost
        start -= 1
    chosen = units[start:] if asked is not None and start <= asked else (*question, *units[start:])
    return (_levelled(chosen, room) or ()) if chosen else ()


def _at_level(unit: TranscriptUnit, level: int) -> TranscriptUnit:
    message: UserMessage | AssistantMessage
    if isinstance(unit.message, UserMessage):
        message = _short(unit.message, level)
    else:
        message = _short_assistant(unit.message, level)
    return unit._replace(message=message, results=tuple(_short(result, level) for result in unit.results))


def _short(message: _Answer, level: int) -> _Answer:
    _, (size,) = _parts(message)
    if size <= level:
        return message
    text = "\n".join(IMAGE_DROPPED if isinstance(block, Image) else block.text for block in message.content)
    return replace(message, content=(Text(truncate(text, level)),))


def _short_assistant(message: AssistantMessage, level: int) -> AssistantMessage:
    _, (said, *_) = _parts(message)
    content = tuple(_bare_call(block, level) for block in message.content)
    if said > level:
        calls = tuple(block for block in content if isinstance(block, ToolCall))
        text = text_of(message)
        content = ((Text(truncate(text, level)),) if text else ()) + calls
    return replace(message, content=content)
