"""Save points: names for moments of a conversation."""

from typing import Annotated, TypedDict

from pydantic import Field

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.operations import Forked
from roost.protocol.families.sessions import KeyParams
from roost.protocol.method import Method
from roost.protocol.params import Name
from roost.protocol.scopes import Scope

MOST_MESSAGES = 1_000


class PointParams(KeyParams):
    name: Name


class Listed(TypedDict):
    """`points` are `{name, at, by, sessionId, seq, model, settings, children}`, oldest first."""

    ts: int
    key: str
    points: list[JsonObject]


class Saved(TypedDict):
    ok: bool
    key: str
    point: JsonObject


class DiffParams(KeyParams):
    """Two points of one session; without the second, how it is now."""

    before: Name
    after: Name | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_MESSAGES)] = 50


class Messages(TypedDict):
    """How many there are, and the last of them."""

    count: int
    messages: list[JsonObject]


class Differing(TypedDict):
    """What only the first (`gone`) and only the second (`new`) has. `settings` are `{name, before, after}`, `model` is
    `{before, after}` or null, `children` has the keys of those that `born`, `left` and `moved` name."""

    ts: int
    key: str
    gone: Messages
    new: Messages
    settings: list[JsonObject]
    model: JsonObject | None
    children: dict[str, JsonValue]


class Deleted(TypedDict):
    ok: bool
    key: str
    name: str


LIST = Method(
    name="sessions.points.list",
    params=KeyParams,
    result=Listed,
    needs=Scope.READ,
    about="The save points of a session.",
)
SAVE = Method(
    name="sessions.points.save",
    params=PointParams,
    result=Saved,
    needs=Scope.WRITE,
    about="Gives the moment at which a session is a name, to go back to. A name is given once.",
)
DIFF = Method(
    name="sessions.points.diff",
    params=DiffParams,
    result=Differing,
    needs=Scope.READ,
    about="What is different between two save points, or between one and now.",
)
LOAD = Method(
    name="sessions.points.load",
    params=PointParams,
    result=Forked,
    needs=Scope.WRITE,
    about="Opens a session that goes on from a save point of another, with the settings it had then.",
    owners=True,
)
DELETE = Method(
    name="sessions.points.delete",
    params=PointParams,
    result=Deleted,
    needs=Scope.WRITE,
    about="Forgets a save point; nothing that was said goes.",
)
