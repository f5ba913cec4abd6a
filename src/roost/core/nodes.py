"""Nodes: devices that lend a gateway what they can do. What one says it can, what it was asked, and how that may fail."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.core.errors import InvalidInput, RoostError
from roost.core.jsonvalue import JsonValue, compact, from_utf8


class NodeOffline(RoostError):
    """The node is not connected; it was asked for nothing."""

    code = "node_offline"
    retryable = True


class NodeElsewhere(RoostError):
    """The node is connected to another gateway; it was asked for nothing."""

    code = "node_elsewhere"


class NodeUnknown(RoostError):
    """The node left before it answered; whether it did what it was asked is unknown."""

    code = "node_unknown"


class NodeAnswered(RoostError):
    """The node answered this before, and what it answered was too large to keep."""

    code = "node_answered"


class NodeTimeout(RoostError):
    """The node did not answer in time; whether it did what it was asked is unknown."""

    code = "node_timeout"


class NodeFailed(RoostError):
    """The node answered that it could not."""

    code = "node_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a node says of itself when it comes: kinds of things it has, what it can be asked, and what it was allowed by
    whoever holds it."""

    caps: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    permissions: Mapping[str, bool] = field(default_factory=dict)

    def refuse_unknown(self, command: str) -> None:
        if command not in self.commands:
            raise InvalidInput(
                f"this node does not have the command {command[:100]!r}",
                hint="`node.describe` shows those it has",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a node answered. `payload` is a value, `text` one that it wrote as JSON itself."""

    payload: JsonValue = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """`code` is the node's own."""

    message: str
    code: str | None = None

    def error(self) -> NodeFailed:
        return NodeFailed(f"{self.code}: {self.message}" if self.code else self.message)


Answer = Done | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a node answered, to be told again: its JSON, or None where that was too large. `written` is whether the node
    wrote it itself."""

    encoded: bytes | None
    written: bool

    def done(self) -> Done:
        if self.encoded is None:
            raise NodeAnswered("the node answered this already, too much to be told again")
        text = from_utf8(self.encoded)
        return Done(payload=json.loads(text), text=text if self.written else None)


def kept(done: Done, most_bytes: int) -> Kept:
    text = compact(done.payload) if done.text is None else done.text
    encoded = text.encode("utf-8", "surrogatepass")
    return Kept(encoded=encoded if len(encoded) <= most_bytes else None, written=done.text is not None)
