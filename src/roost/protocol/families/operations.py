"""What an operator looks after: messages on their way out, gateways, what the settings leave open, and forks."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from roost.core.deliveries import DeliveryState
from roost.core.jsonvalue import JsonObject
from roost.protocol.families.sessions import KeyParams
from roost.protocol.method import Method
from roost.protocol.params import Name, NoParams, Params
from roost.protocol.scopes import Scope

MOST_DELIVERIES = 200


class DeliveriesParams(Params):
    """Oldest first."""

    state: Annotated[DeliveryState, Field(strict=False)] = DeliveryState.FAILED
    limit: Annotated[int, Field(ge=1, le=MOST_DELIVERIES)] = 100


class Deliveries(TypedDict):
    """`counts` are those of all that did not arrive or may not have, by state."""

    ts: int
    counts: dict[str, int]
    deliveries: list[JsonObject]


class DeliveryParams(Params):
    id: Name


class Decided(TypedDict):
    ok: bool
    id: str
    state: str


class Gateways(TypedDict):
    ts: int
    gateways: list[JsonObject]


class DrainParams(Params):
    """The name of the gateway that shall leave, which must be the one that is asked; needed where there are several."""

    gateway: Name | None = None


class Draining(TypedDict):
    """It waits for `runs`, each `{key, runId, startedAt}`, and for what is being sent, for `drainMs` at most."""

    gateway: str
    drainMs: int
    runs: list[JsonObject]


class Audited(TypedDict):
    ok: bool
    summary: dict[str, int]
    findings: list[JsonObject]


class ForkParams(KeyParams):
    """The message it goes on from, which belongs to it."""

    message_id: Name


class Forked(TypedDict):
    ok: Literal[True]
    key: str
    sessionId: str


DELIVERIES = Method(
    name="deliveries.list",
    params=DeliveriesParams,
    result=Deliveries,
    needs=Scope.ADMIN,
    about="Messages on their way out, or that did not arrive, by what became of them.",
    owners=True,
)
RETRY = Method(
    name="deliveries.retry",
    params=DeliveryParams,
    result=Decided,
    needs=Scope.ADMIN,
    about="Sends a message again whose send failed or is uncertain, or one that was dismissed.",
    owners=True,
)
DISMISS = Method(
    name="deliveries.dismiss",
    params=DeliveryParams,
    result=Decided,
    needs=Scope.ADMIN,
    about="Gives a message up whose send failed or is uncertain.",
    owners=True,
)
GATEWAYS = Method(
    name="gateways.list",
    params=NoParams,
    result=Gateways,
    needs=Scope.ADMIN,
    about="Who holds a lease on the store.",
    owners=True,
)
DRAIN = Method(
    name="gateways.drain",
    params=DrainParams,
    result=Draining,
    needs=Scope.ADMIN,
    about="Has the gateway leave as a signal does: it takes up nothing more, lets what is under way end, and ends.",
    owners=True,
)
AUDIT = Method(
    name="security.audit",
    params=NoParams,
    result=Audited,
    needs=Scope.ADMIN,
    about="What the settings and files leave open to others, the worst first.",
    owners=True,
)
FORK = Method(
    name="roost.fork",
    params=ForkParams,
    result=Forked,
    needs=Scope.WRITE,
    about="Opens a session that goes on from a message of another.",
    owners=True,
)
