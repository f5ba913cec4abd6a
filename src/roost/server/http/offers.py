"""What a page takes and what it may answer, said once: the page goes by it, and so does its description."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import BaseModel
from typing_extensions import TypedDict

from roost.core.jsonvalue import JsonObject
from roost.protocol.scopes import Scope

OK = 200
BAD, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, LATE, TAKEN, TOO_LARGE, BUSY = 400, 401, 403, 404, 408, 409, 413, 429
UNKNOWN_VERB, UNFIT, AWAY = 405, 502, 503

READ = ("GET", "HEAD")
WRITE = ("POST",)
JSON, TEXT, EVENTS = "application/json", "text/plain", "text/event-stream"

# Whoever asks may be turned away for the names in the request, before any page looks at it.
_EDGE = (BAD, FORBIDDEN)
_ENTRY = (UNAUTHORIZED, FORBIDDEN, BUSY, AWAY)
_BODY = (BAD, LATE, TOO_LARGE)

Shape: TypeAlias = Any
"""A type whose JSON schema can be made: a closed dictionary, or several of them; a schema as it is, too."""


class Reason(TypedDict):
    message: str
    type: str


class Failure(TypedDict):
    error: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What is sent along, in so many bytes at most."""

    schema: type[BaseModel] | JsonObject
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """`proofs` are what may be shown in place of the gateway's credential. `gives` are the answers when all went well, by
    their media type; `refuses` are the statuses of a `refusal` beyond those that follow from what is needed and taken."""

    paths: tuple[str, ...]
    about: str
    verbs: tuple[str, ...] = READ
    needs: Scope | None = None
    owners: bool = False
    proofs: tuple[tuple[str, ...], ...] = ()
    body: Body | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    gives: Mapping[str, Shape]
    refusal: Shape = Failure
    refuses: tuple[int, ...] = ()

    @property
    def answers(self) -> Mapping[int, Mapping[str, Shape]]:
        """Every status it may answer with, and what comes with it."""
        known = (*_EDGE, *(_ENTRY if self.needs else ()))
        told: dict[int, Shape] = dict.fromkeys(known, Failure)
        for status in (*(_BODY if self.body else ()), *self.refuses):
            told[status] = told.get(status, self.refusal) | self.refusal
        return {OK: self.gives} | {status: {JSON: told[status]} for status in sorted(told)}
