"""How much there is to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.core.deliveries import DeliveryState
from roost.core.runs import RunState

UNDONE = (DeliveryState.INTENT, DeliveryState.SENDING, DeliveryState.UNCERTAIN, DeliveryState.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Runs that have not ended, and deliveries that did not arrive or may not have, counted by state; one that is
    missing is 0. `waiting` are the messages that no run has taken."""

    waiting: int = 0
    runs: Mapping[RunState, int] = field(default_factory=dict)
    deliveries: Mapping[DeliveryState, int] = field(default_factory=dict)
