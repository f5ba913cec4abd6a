"""People who are let in on channels by pairing."""

from typing import Literal, TypedDict

from roost.core.jsonvalue import JsonObject
from roost.protocol.method import Method
from roost.protocol.params import Name, NoParams, Params
from roost.protocol.scopes import Scope


class CodeParams(Params):
    """The `code` that somebody was told in his chat; how it is written, large or small, is all the same."""

    code: Name


class RequestParams(Params):
    request_id: Name


class PersonParams(Params):
    person_id: Name


class People(TypedDict):
    """`asking` have a `requestId`, `people` a `personId`; both `channel`, `accountId`, `senderId`, `displayName`."""

    ts: int
    asking: list[JsonObject]
    people: list[JsonObject]


class Decided(TypedDict):
    decision: Literal["approved", "rejected", "removed"]
    ts: int
    person: JsonObject


LIST = Method(
    name="people.list",
    about="Who was let in on a channel by pairing, and who asks to be. Nobody is shown a code: who was told it gives it.",
    params=NoParams,
    result=People,
    needs=Scope.PAIRING,
    owners=True,
)
APPROVE = Method(
    name="people.approve",
    about="Lets somebody in who gave the owner his code.",
    params=CodeParams,
    result=Decided,
    needs=Scope.PAIRING,
    owners=True,
)
REJECT = Method(
    name="people.reject",
    about="Forgets that somebody asked; he may ask again.",
    params=RequestParams,
    result=Decided,
    needs=Scope.PAIRING,
    owners=True,
)
REMOVE = Method(
    name="people.remove",
    about="Lets somebody in no longer. What was said with him stays.",
    params=PersonParams,
    result=Decided,
    needs=Scope.PAIRING,
    owners=True,
)
