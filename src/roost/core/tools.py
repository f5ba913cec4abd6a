"""A tool call as the engine makes it: who calls, where, and what comes back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from roost.core.jsonvalue import JsonObject, refuse_unwritable
from roost.core.keys import SessionKey
from roost.core.messages import UserBlock
from roost.core.rights import Rights
from roost.core.runs import Cause


class WorkspaceAccess(StrEnum):
    NONE = "none"
    READ = "ro"
    WRITE = "rw"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTraits:
    """What the engine must know. `reenterable`: may run again after a crash. `privileged`: needs the owner's own
    word as the cause of the run. `parallel`: may run beside other calls of the same answer. `waits`: mostly waits for
    other runs, to which it leaves its place meanwhile. `ends_turn`: the turn is over when it went well. `recalls`: what
    it answers holds what was said elsewhere or before."""

    reenterable: bool = False
    privileged: bool = False
    parallel: bool = False
    waits: bool = False
    ends_turn: bool = False
    recalls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """What one program and all that it starts may use together; open files, the size of a file and processor time
    are each process's own. `free_disk` bytes must stay free where the workspace lies. None is no limit."""

    processes: int | None = None
    memory: int | None = None
    open_files: int | None = None
    file_size: int | None = None
    cpu_seconds: int | None = None
    free_disk: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a run's tools act: its workspace folder, and whether a sandbox with its limits stands around them."""

    workspace: str
    access: WorkspaceAccess = WorkspaceAccess.WRITE
    sandboxed: bool = False
    network: bool = False
    limits: ProgramLimits = field(default_factory=ProgramLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One call with everything it may know of its caller; identity is an argument, never ambient. `model` is the one
    its run was given, `context_tokens` how large the context is in which it is made: reckoned for who asks only."""

    run_id: str
    call_id: str
    agent: str
    key: SessionKey
    cause: Cause
    place: Place
    arguments: JsonObject
    rights: Rights = field(default_factory=Rights)
    model: str | None = None
    context_tokens: Callable[[], int] = field(default=lambda: 0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What the model reads; `details` are for people and never reach a model. Who makes one whose details cannot be kept is
    told so, and not the run that is to keep them."""

    content: tuple[UserBlock, ...]
    is_error: bool = False
    details: JsonObject | None = field(default=None)

    def __post_init__(self) -> None:
        if self.details is not None:
            refuse_unwritable(self.details)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCommand:
    """A program to run: in a folder, for at most so long, with this environment and no other."""

    argv: tuple[str, ...]
    place: Place
    folder: str
    environment: tuple[tuple[str, str], ...] = ()
    timeout_ms: int = 120_000


class Excess(StrEnum):
    """A limit for which a program was stopped."""

    PROCESSES = "processes"
    MEMORY = "memory"
    DISK = "free_disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """`status` is None when the program was stopped; `timed_out` and `excess` say why."""

    status: int | None
    timed_out: bool = False
    excess: Excess | None = None
