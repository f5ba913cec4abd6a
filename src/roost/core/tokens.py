"""How many tokens a text will cost, without a tokenizer.

An estimate for budgets only: what a provider reports is the truth. It counts runs of one class of
character (about six letters, three digits or two signs a token, three quarters of a token for a CJK
character) and errs upwards. A text never costs less than a prefix of it.
"""

import re
from functools import lru_cache
from itertools import islice
from typing import assert_never

from roost.core.jsonvalue import compact
from roost.core.messages import (
    AssistantBlock,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserBlock,
)

IMAGE_TOKENS = 2_000
MESSAGE_TOKENS = 4
CALL_TOKENS = 12

_CJK = "\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_IDEOGRAPH = re.compile(f"[{_CJK}]")
_LONGEST_PIECE = 16
# One match is about one token. The classes do not overlap and every match is cut at a fixed length, so a
# text can be cut at any match without changing what the rest costs.
_PIECE = re.compile(
    rf"[{_CJK}]"
    r"|[a-z]{1,6}|[A-Z][a-z]{0,5}|[\u00c0-\u024f]|[0-9]{1,3}|[\u0250-\u10ff\u1200-\u167f\u1681-\u1fff]{1,4}"
    rf"|\s{{2,{_LONGEST_PIECE}}}"
    r"|[!-/:-@\[-`{-~]{1,2}|\S"
)
_SHORT = 1_024
_FIRST = re.compile(r"\A[\s\[［]+")


def estimate(text: str) -> int:
    """The tokens of a text."""
    if len(text) <= _SHORT:
        return _remembered(text)
    known = _known(len(text), hash(text))
    if not known:
        known.append(_counted(text))
    return known[0]


# A conversation is counted anew before every call, and most of it is what it was.
@lru_cache(maxsize=4_096)
def _remembered(text: str) -> int:
    return _counted(text)


# Of a long text only its hash is held, which costs a thirtieth of counting it, and a text keeps its own.
@lru_cache(maxsize=4_096)
def _known(length: int, fingerprint: int) -> list[int]:
    """The place of one count, empty until it is known."""
    return []


def _counted(text: str) -> int:
    pieces = len(_PIECE.findall(text))
    if text.isascii():
        return pieces
    return pieces - len(_IDEOGRAPH.findall(text)) // 4


def _block_tokens(block: UserBlock | AssistantBlock) -> int:
    match block:
        case Text(text=text) | Thinking(thinking=text):
            return estimate(text)
        case Image():
            return IMAGE_TOKENS
        case ToolCall(name=name, arguments=arguments):
            return CALL_TOKENS + estimate(name) + estimate(compact(arguments))
        case _:
            assert_never(block)


def estimate_message(message: Message) -> int:
    """The tokens of a message as part of a prompt; a result's `details` are not."""
    framing = MESSAGE_TOKENS + (CALL_TOKENS if isinstance(message, ToolResult) else 0)
    return framing + sum(_block_tokens(block) for block in message.content)


def _opening(text: str, tokens: int) -> str:
    end = 0
    for piece in islice(_PIECE.finditer(text), tokens):
        end = piece.end()
    return text[:end]


def _ending(text: str, tokens: int) -> str:
    if tokens < 1:
        return ""
    # At most one free space stands before each piece.
    reach = text[-(tokens * (_LONGEST_PIECE + 1)) :]
    pieces = list(_PIECE.finditer(reach))
    return reach[pieces[-tokens].start() :] if len(pieces) > tokens else reach


def truncate(text: str, tokens: int) -> str:
    """The text if it costs at most `tokens`, else its beginning and end around a note of what was cut.

    The result costs at most `tokens`; where even the note does not fit, it is empty.
    """
    if estimate(text) <= tokens:
        return text
    note = f"\n[... {len(text)} characters, cut here ...]\n"
    room = tokens - estimate(note)
    if room < 0:
        return ""
    ending = room // 3
    # Spaces beside the note would be one run with its line breaks, and cost a token. A bracket that comes
    # first may have lost the backslash that broke it as a mark.
    return _opening(text, room - ending).rstrip() + note + _FIRST.sub("", _ending(text, ending))
