"""The terms on which a session was spawned. They are fixed then: nothing that is configured later widens them."""

from dataclasses import dataclass, field
from enum import StrEnum

from roost.core.rights import Rights


class SpawnMode(StrEnum):
    """Whether a child ends with its task or stays for more."""

    RUN = "run"
    SESSION = "session"


class SpawnContext(StrEnum):
    """Whether a child begins with nothing, or with what its requester has said and heard."""

    ISOLATED = "isolated"
    FORK = "fork"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a child may do, with which model, and in which part of its workspace. `task` is the beginning of it."""

    rights: Rights = field(default_factory=Rights)
    mode: SpawnMode = SpawnMode.RUN
    max_depth: int = 1
    task: str = ""
    task_name: str | None = None
    model: str | None = None
    thinking: str | None = None
    folder: str | None = None
