"""File names of transcripts. An id from outside is matched against a fixed pattern before it is part of a name."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote

from roost.core.errors import InvalidInput
from roost.core.references import by_session_id

SUFFIX = ".jsonl"

_TOPIC = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_NAME = re.compile(
    r"""(?P<stem>
            (?P<id>[A-Za-z0-9][A-Za-z0-9._-]{0,127}?)
            (?:-topic-(?P<topic>[A-Za-z0-9%._-]{1,64}))?
        )\.jsonl
        (?:\.(?P<fate>deleted|reset)\.(?P<stamp>[A-Za-z0-9:._-]{1,64}?))?
        (?P<compressed>\.zst)?""",
    re.ASCII | re.VERBOSE,
)


def is_session_id(text: str) -> bool:
    """Whether a text, as it stands, has the form of a session id."""
    try:
        return by_session_id(text).session_id == text
    except InvalidInput:
        return False


def transcript_name(session_id: str, topic: str | None = None) -> str:
    """The name of a transcript's file; an id or topic that could be more than a name is refused."""
    if not is_session_id(session_id):
        raise InvalidInput(f"{session_id!r} is no session id", hint="take the id from sessions_list")
    if topic is None:
        return f"{session_id}{SUFFIX}"
    if not _TOPIC.fullmatch(topic):
        raise InvalidInput(
            f"{topic!r} cannot be part of a file name", hint="a topic is letters, digits, . _ and -"
        )
    return f"{session_id}-topic-{topic}{SUFFIX}"


def transcript_path(store_dir: Path, session_id: str, topic: str | None = None) -> Path:
    """Where the transcript of a session lies, or would lie. Nothing is looked at."""
    return store_dir / transcript_name(session_id, topic)


class Fate(StrEnum):
    """What OpenClaw did to a session when it put its transcript aside."""

    DELETED = "deleted"
    RESET = "reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptName:
    """The name of a file that holds a transcript, read by its parts.

    `stem` is the session id, with the topic if there is one; `stamp` says when the file was put aside.
    """

    text: str
    stem: str
    session_id: str
    topic: str | None = None
    fate: Fate | None = None
    stamp: str = ""
    compressed: bool = False

    @classmethod
    def parse(cls, text: str) -> "TranscriptName | None":
        """The parts of a name that OpenClaw gives to transcripts; None for any other."""
        found = _NAME.fullmatch(text)
        if found is None:
            return None
        return cls(
            text=text,
            stem=found["stem"],
            session_id=found["id"],
            topic=found["topic"] and unquote(found["topic"]),
            fate=Fate(found["fate"]) if found["fate"] else None,
            stamp=found["stamp"] or "",
            compressed=found["compressed"] is not None,
        )

    def fits(self, topics: frozenset[str]) -> bool:
        """Whether the file can belong to a conversation with these topics: it has one of them, or none."""
        return self.topic is None or self.topic in topics
