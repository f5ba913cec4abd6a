"""The words of a queue: what a turn that answers several messages is asked, and what is kept of a dropped one."""

import re
from collections.abc import Sequence

from roost.core.inbound import Inbound
from roost.core.messages import Text
from roost.core.oneline import BLANKS, LINE_START

EXCERPT_CHARS = 160
TITLE = "[Queued messages while agent was busy]"

_NAME_CHARS = 80
# A line of a message that reads like the frame around messages could speak for someone else.
_FRAME = re.compile(rf"{LINE_START}(?={BLANKS}(?:---|Queued #|\[Queue))")


def body(inbound: Inbound) -> str:
    return "\n".join(block.text for block in inbound.content if isinstance(block, Text))


def excerpt(inbound: Inbound) -> str:
    """A message in one short line."""
    return in_short(body(inbound))


def in_short(text: str) -> str:
    line = " ".join(text.split()) or "(no text)"
    return line if len(line) <= EXCERPT_CHARS else f"{line[: EXCERPT_CHARS - 1]}…"


def overflow(lines: Sequence[str]) -> str:
    """What is left of messages that fell out of a full queue."""
    head = f"[Queue overflow] Dropped {len(lines)} message(s) due to cap."
    return "\n".join((head, "Summary:", *(f"- {line}" for line in lines)))


def collect_prompt(inputs: Sequence[Inbound], dropped: Sequence[str] = ()) -> str:
    """One text for one turn. A lone message stands as it is."""
    if not dropped and len(inputs) == 1:
        return body(inputs[0])
    parts = [overflow(dropped)] if dropped else []
    blocks = (_block(number, inbound) for number, inbound in enumerate(inputs, start=1))
    return "\n\n".join((*parts, TITLE, *blocks))


def _block(number: int, inbound: Inbound) -> str:
    text = _FRAME.sub(r"\\", body(inbound))
    return f"---\nQueued #{number} (from {_sender(inbound)})\n{text}"


def _sender(inbound: Inbound) -> str:
    name = inbound.sender_name or str(inbound.principal)
    return " ".join(re.sub(r"[()\[\]]", " ", name).split())[:_NAME_CHARS] or "unknown"
