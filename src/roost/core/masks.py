"""Masks in a text that somebody wants to store: a mask written back would destroy the secret it stands for.

Only what cannot be ordinary prose counts: `***` where a value belongs, `head…tail` that is no pair of words or is said to be
a secret, and the name that is kept instead of a configured one.
"""

import re

from roost.core.errors import InvalidInput
from roost.core.seals import SEAL

_QUOTE = r"""(?:\\{0,3}["'`])"""
_FLAG = r"(?<!-)--[a-z][a-z-]{0,40}"
_BEHIND_FLAG = rf"(?:\s{{1,9}}{_QUOTE}?|{_QUOTE},\s{{0,9}}{_QUOTE})"
_VALUE_IS_HIDDEN = re.compile(
    rf"""(?:[:=]\s{{0,9}}\\?["'`]?|\b(?:bearer|basic|bot|token)\s{{1,9}}|{_FLAG}{_BEHIND_FLAG})\*\*\*(?=$|[\s"'`,;.&@)}}\]\\])"""
    r"""|-----BEGIN\ [A-Z ]{0,30}PRIVATE\ KEY(?:\ BLOCK)?-----(?:\*\*\*|[^…]{6}…|\s{0,9}\S{0,8}…)""",
    re.IGNORECASE,
)
_NAME = r"(?:key|token|secret|password|passwd|passphrase)"
_IS = rf"{_QUOTE}?\s{{0,9}}[:=]\s{{0,9}}{_QUOTE}?"
_NAMES_A_SECRET = re.compile(
    rf"(?:{_NAME}{_IS}|authorization{_IS}(?:[a-z][a-z0-9-]{{1,24}}\s{{1,9}})?|--[a-z-]{{0,40}}{_NAME}{_BEHIND_FLAG})\Z",
    re.IGNORECASE,
)
_NAME_CHARS = 80
_SHORTENED = re.compile(
    r"(?<![A-Za-z0-9_])([A-Za-z0-9_+/=.:~$-]{6})…([A-Za-z0-9_+/=.:~-]{4})(?![A-Za-z0-9_])"
)
_WORDS = re.compile(r"[\W_]*(?:[A-Z]?[a-z]+|[A-Z]+)[\W_]*")


def masks(text: str) -> tuple[str, ...]:
    """The masks of a text in order, each with what shows that it is one."""
    hidden = ((found.start(), found[0]) for found in _VALUE_IS_HIDDEN.finditer(text))
    shortened = (
        (found.start(), found[0])
        for found in _SHORTENED.finditer(text)
        if not _is_prose(found[1], found[2]) or _is_named(text, found.start())
    )
    sealed = ((found.start(), found[0]) for found in SEAL.finditer(text))
    return tuple(found for _, found in sorted((*hidden, *shortened, *sealed)))


def is_mask(text: str) -> bool:
    """Whether a text is what is shown or kept instead of a secret, and nothing else."""
    shortened = _SHORTENED.fullmatch(text)
    return bool(SEAL.fullmatch(text)) or (shortened is not None and not _is_prose(shortened[1], shortened[2]))


def refuse_masks(text: str, *, known: str) -> None:
    """Raise when `text` brings a mask that `known`, the text it replaces, does not hold already."""
    before = frozenset(masks(known))
    brought = [found for found in masks(text) if found not in before]
    if brought:
        raise InvalidInput(
            f"the text holds a masked secret ({brought[0]}), not the secret itself; nothing was written",
            hint="leave that value out, refer to an environment variable, or ask the person to write it",
        )


def _is_named(text: str, at: int) -> bool:
    """Whether a name says that what stands there is a secret."""
    return _NAMES_A_SECRET.search(text, max(0, at - _NAME_CHARS), at) is not None


def _is_prose(head: str, tail: str) -> bool:
    return all(_WORDS.fullmatch(part) for part in (head, tail))
