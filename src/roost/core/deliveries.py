"""A delivery: one outgoing message with its address and what became of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from roost.core.addresses import Address
from roost.core.keys import SessionKey
from roost.core.runs import Claim


class DeliveryKind(StrEnum):
    REPLY = "reply"
    NOTICE = "notice"
    ANNOUNCE = "announce"
    LETTER = "letter"
    COMMAND = "command"


class DeliveryState(StrEnum):
    """`UNCERTAIN` is a send whose outcome nobody knows: reconciled or shown, never blindly repeated."""

    INTENT = "intent"
    SENDING = "sending"
    CONFIRMED = "confirmed"
    UNCERTAIN = "uncertain"
    FAILED = "failed"
    DISMISSED = "dismissed"

    @property
    def settled(self) -> bool:
        return self in (DeliveryState.CONFIRMED, DeliveryState.FAILED, DeliveryState.DISMISSED)

    def may_become(self, decided: "DeliveryState") -> bool:
        """Whether a person or a channel may decide so on one in this state. What was given up, by whomever, may be sent
        after all."""
        match self:
            case DeliveryState.UNCERTAIN | DeliveryState.FAILED:
                return decided.settled or decided is DeliveryState.INTENT
            case DeliveryState.DISMISSED:
                return decided is DeliveryState.INTENT
            case DeliveryState.INTENT | DeliveryState.SENDING | DeliveryState.CONFIRMED:
                return False
            case other:
                assert_never(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """`id` is also the key a channel that can dedupe is given; `digest` is of what was to be sent where, as somebody asked
    for it."""

    id: str
    key: SessionKey
    address: Address
    kind: DeliveryKind
    text: str
    created_at: int
    run_id: str | None = None
    state: DeliveryState = DeliveryState.INTENT
    attempts: int = 0
    ready_at: int = 0
    receipt: str | None = None
    error: str | None = None
    claim: Claim | None = None
    fence: int = 0
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    receipt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponed:
    """A failure that may pass: send again at `ready_at`."""

    ready_at: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A failure that stays."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """The channel may or may not have taken it."""

    error: str


SendResult = Confirmed | Postponed | Rejected | Unknown
