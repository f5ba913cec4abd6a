"""What is said about children: the findings a continuation starts with, and the question before an announce."""

from collections.abc import Iterable

from roost.core.exchanges import Completion
from roost.core.sentinels import Sentinel

FINDINGS_CHARS = 4096
FINDING_CHARS = 512
RESULT_BYTES = 100 * 1024

ANNOUNCE_PROMPT = (
    "Your task is done. Write what your requester should be told, in a few sentences: the result first, then notes "
    f"if there are any. Your status is added for you. Reply exactly {Sentinel.ANNOUNCE_SKIP} to say nothing."
)


def findings(completions: Iterable[Completion]) -> str:
    """How the children of a batch ended, oldest first."""
    ordered = sorted(completions, key=lambda one: (one.created_at, one.settled_at or 0, str(one.child)))
    blocks = (_finding(number, one) for number, one in enumerate(ordered, start=1))
    return _cut("\n\n".join(("The sub-agents you waited for have ended.", *blocks)), FINDINGS_CHARS)


def finding(completion: Completion) -> str:
    """How one child ended."""
    return _finding(1, completion)


def kept_result(text: str | None) -> str | None:
    """A child's last words, as far as they are kept."""
    if text is None:
        return None
    return text.encode()[:RESULT_BYTES].decode(errors="ignore")


def _finding(number: int, completion: Completion) -> str:
    said = completion.result or "(no output)"
    failed = f"\nError: {_cut(completion.error, FINDING_CHARS)}" if completion.error else ""
    return f"{number}. {completion.child}\nStatus: {completion.status}\n{_cut(said, FINDING_CHARS)}{failed}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
