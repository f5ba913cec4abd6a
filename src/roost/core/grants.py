"""What a credential may do. Asking can only shrink it, and nobody hands out what he has not."""

from collections.abc import Collection, Iterable
from enum import StrEnum


class Role(StrEnum):
    """What a client is: somebody's, with scopes; or a device that lends what it can do, with none."""

    OPERATOR = "operator"
    NODE = "node"


class Scope(StrEnum):
    READ = "operator.read"
    WRITE = "operator.write"
    ADMIN = "operator.admin"
    APPROVALS = "operator.approvals"
    QUESTIONS = "operator.questions"
    PAIRING = "operator.pairing"
    SESSION_TOOLS = "operator.tools.sessions"
    """To call session tools over HTTP. Nothing else holds it: it must be asked for by its name."""


EVERY = frozenset(Scope)


def holds(granted: Collection[str], needed: Scope) -> bool:
    """Whether these scopes hold another: admin holds nearly all, write holds read."""
    if needed in granted:
        return True
    if Scope.ADMIN in granted:
        return needed is not Scope.SESSION_TOOLS
    return needed is Scope.READ and Scope.WRITE in granted


def grant(asked: Iterable[str], record: Collection[Scope]) -> tuple[Scope, ...]:
    """What a client gets of what it asked for, in its order."""
    known = (Scope(one) for one in dict.fromkeys(asked) if one in tuple(Scope))
    return tuple(one for one in known if holds(record, one))


def lacking(wanted: Iterable[Scope], record: Collection[Scope]) -> Scope | None:
    """The first of these scopes that a record does not hold."""
    return next((one for one in wanted if not holds(record, one)), None)
