"""Who speaks. A credential, a paired person, an operator client, a node or an agent, never a claim in a text."""

from dataclasses import dataclass
from enum import StrEnum

from roost.core.errors import InvalidInput


class PrincipalKind(StrEnum):
    OWNER = "owner"
    PERSON = "person"
    OPERATOR = "operator"
    AGENT = "agent"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Principal:
    """One who speaks; `id` is empty for the gateway's owner only."""

    kind: PrincipalKind
    id: str = ""

    def __post_init__(self) -> None:
        if (self.kind is PrincipalKind.OWNER) != (self.id == ""):
            raise InvalidInput(f"a principal of kind {self.kind} with id {self.id!r} cannot exist")

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.id else str(self.kind)

    @classmethod
    def parse(cls, text: str) -> "Principal":
        """The inverse of `str`; used where a row is read."""
        kind, _, identity = text.partition(":")
        try:
            return cls(PrincipalKind(kind), identity)
        except ValueError:
            raise InvalidInput(f"{text!r} names no principal") from None

    @property
    def is_owner(self) -> bool:
        return self.kind is PrincipalKind.OWNER

    @property
    def is_node(self) -> bool:
        return self.kind is PrincipalKind.NODE


OWNER = Principal(PrincipalKind.OWNER)


def person(channel: str, sender_id: str) -> Principal:
    """The principal of a person known by an id on one channel."""
    return Principal(PrincipalKind.PERSON, f"{channel}:{sender_id}")


UNKNOWN = person("", "unknown")
"""Somebody who is not the owner, and is nobody who could speak here: no channel is without a name."""


def node(device_id: str) -> Principal:
    """The principal of a node: the device itself, whoever approved it."""
    return Principal(PrincipalKind.NODE, device_id)
