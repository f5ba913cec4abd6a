"""A typed client of a gateway: over a WebSocket, or over memory in the same process."""

from roost.client.client import Client
from roost.client.errors import ConnectionLost, Refused, TurnFailed, Unreachable, Untrusted
from roost.client.events import Event, Gap
from roost.client.line import Absence
from roost.client.trust import Trust
from roost.client.turns import Answer, Delta, Figures, Piece, Thought, ToolStep

__all__ = [
    "Absence",
    "Answer",
    "Client",
    "ConnectionLost",
    "Delta",
    "Event",
    "Figures",
    "Gap",
    "Piece",
    "Refused",
    "Thought",
    "ToolStep",
    "Trust",
    "TurnFailed",
    "Unreachable",
    "Untrusted",
]
