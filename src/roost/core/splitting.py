"""A long text as several messages, none longer than a channel takes.

Nothing of the text is changed or left out: only code that goes on in the next message is closed and opened again.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from roost.core.addresses import Account
from roost.core.codespans import Fence, fences
from roost.core.deliveries import Delivery
from roost.core.errors import InvalidInput
from roost.core.notices import derived_id

_PARAGRAPH = re.compile(r"\n[ \t\r]*+\n")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*+[ \t\r\n]|[。！？][”’」』）]*+")
_BLANKS = frozenset(" \t\r\n\u3000")

_JOINER = "\u200d"
_EXTENDS = re.compile("[\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_JAMO_TAIL = re.compile("[\u1100-\u11ff\uac00-\ud7a3][\u1160-\u11ff]")
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]|\r\n")
_FLAG_HALF = re.compile("[\U0001f1e6-\U0001f1ff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One message: a piece of the text, with the lines added to open and close code that is cut in two."""

    body: str
    head: str = ""
    tail: str = ""

    @property
    def text(self) -> str:
        return self.head + self.body + self.tail


def split(text: str, longest: int) -> tuple[Part, ...]:
    """The text in parts of at most `longest` characters, cut where it hurts least."""
    if longest < 1:
        raise InvalidInput(
            f"no message has {longest} characters", hint="a channel's longest must be at least 1"
        )
    if len(text) <= longest:
        return (Part(body=text),) if text else ()
    blocks = _Blocks(fence for fence in fences(text) if _carried(fence, longest))
    parts: list[Part] = []
    start, head = 0, ""
    while start + longest - len(head) < len(text):
        cut = _cut(text, start, start + longest - len(head), blocks)
        body, broken = text[start:cut], blocks.broken_at(cut)
        parts.append(Part(head=head, body=body, tail=_tail(body, broken)))
        start, head = cut, f"{broken.opening}\n" if broken else ""
    return (*parts, Part(head=head, body=text[start:]))


class _Blocks:
    """Fenced blocks by where they are."""

    def __init__(self, blocks: Iterable[Fence]) -> None:
        self._blocks = tuple(blocks)
        self._starts = [block.start for block in self._blocks]

    def broken_at(self, cut: int) -> Fence | None:
        """The block that a cut here would leave in two pieces."""
        before = bisect_left(self._starts, cut) - 1
        if before >= 0 and cut < self._blocks[before].end:
            return self._blocks[before]
        return None


def _carried(fence: Fence, longest: int) -> bool:
    """Whether a part has room for the lines around code; where it has not, the code is cut like any text."""
    opening, closing = fence.inside - fence.start, max(fence.end - fence.outside, len(fence.closing))
    return opening + closing + 2 <= longest // 2


def _tail(body: str, broken: Fence | None) -> str:
    if broken is None:
        return ""
    return broken.closing if body.endswith("\n") else f"\n{broken.closing}"


def _cut(text: str, start: int, room: int, blocks: _Blocks) -> int:
    """Where the part that begins at `start` ends: after it, at most at `room`, and never in the line of a fence."""
    across = blocks.broken_at(room)
    limit = room - len(across.closing) - 1 if across else room
    first = blocks.broken_at(start + 1)
    floor = first.inside if first and first.start == start else start
    cut = _boundary(text, floor, limit)
    broken = blocks.broken_at(cut)
    if broken is None:
        return cut
    if cut <= broken.inside:
        return broken.start
    if cut >= broken.outside:
        return broken.end if broken.end <= room else broken.outside
    return cut


def _boundary(text: str, floor: int, limit: int) -> int:
    """The best place to cut with `floor` < place <= `limit`.

    Paragraphs, lines and sentences count only where they do not leave the part half empty.
    """
    middle = floor + (limit - floor) // 2
    for pattern in (_PARAGRAPH, _LINE, _SENTENCE):
        place = 0
        for found in pattern.finditer(text, middle, limit):
            place = found.end()
        if place and not _joined(text, floor, place):
            return place
    places = range(limit, floor, -1)
    after_blank = (at for at in places if text[at - 1] in _BLANKS and not _joined(text, floor, at))
    between_clusters = (at for at in places if not _joined(text, floor, at))
    return next(after_blank, None) or next(between_clusters, limit)


def _joined(text: str, floor: int, at: int) -> bool:
    """Whether the characters on both sides of a place are seen as one; an approximation of grapheme clusters."""
    after, pair = text[at], text[at - 1 : at + 1]
    if unicodedata.category(after).startswith("M") or _EXTENDS.match(after) or pair.startswith(_JOINER):
        return True
    if _JAMO_TAIL.match(pair) or _HALVES.match(pair):
        return True
    return bool(_FLAG_HALF.match(after)) and _flag_halves(text, floor, at) % 2 == 1


def _flag_halves(text: str, floor: int, at: int) -> int:
    """How many regional indicators stand before a place, without a gap."""
    place = at
    while place > floor and _FLAG_HALF.match(text, place - 1):
        place -= 1
    return at - place


def part_id(delivery_id: str, number: int) -> str:
    """The first keeps the id of the whole."""
    return derived_id(delivery_id, "part", str(number)) if number else delivery_id


def parts(delivery: Delivery, longest: Mapping[Account, int]) -> tuple[Delivery, ...]:
    """An outgoing message as its channel takes it. Where nobody knows how long one may be, it stays whole."""
    limit = longest.get(delivery.address.served_by)
    if limit is None or len(delivery.text) <= limit:
        return (delivery,)
    texts = [part.text for part in split(delivery.text, limit) if part.text.strip()]
    return tuple(
        replace(delivery, id=part_id(delivery.id, number), text=text) for number, text in enumerate(texts)
    )
