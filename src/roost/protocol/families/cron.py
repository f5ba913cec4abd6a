"""Jobs: what runs by a schedule, and what came of it."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field

from roost.core.jobs import LONGEST_TEXT, Missed, Overlap, Wake
from roost.core.jsonvalue import JsonObject
from roost.core.keys import LONGEST_TEXT as LONGEST_KEY
from roost.core.localtime import LAST_MOMENT
from roost.protocol.method import Method
from roost.protocol.params import AgentId, Count, Name, NoParams, Params, Place, Positive, SessionName, Short
from roost.protocol.scopes import Scope

MOST = 200
LONGEST_DESCRIPTION = 4_000
LONGEST_EVENT = 100_000
LONGEST_TARGET = len("session:") + LONGEST_KEY

JobText = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]


class AtParams(Params):
    kind: Literal["at"]
    at: Name


class EveryParams(Params):
    kind: Literal["every"]
    every_ms: Positive
    anchor_ms: Annotated[int, Field(ge=0, le=LAST_MOMENT)] | None = None


class CronParams(Params):
    """`stagger_ms` is taken and changes nothing: jobs are taken up one after another as it is."""

    kind: Literal["cron"]
    expr: Name
    tz: Name | None = None
    stagger_ms: Count | None = None


class EventParams(Params):
    kind: Literal["systemEvent"]
    text: JobText


class TurnParams(Params):
    kind: Literal["agentTurn"]
    message: JobText
    model: Name | None = None
    thinking: Name | None = None
    timeout_seconds: Annotated[float, Field(ge=0, strict=False, allow_inf_nan=False)] | None = None


class DeliveryParams(Params):
    mode: Literal["none", "announce", "webhook"]
    channel: Name | None = None
    to: Place | None = None
    account_id: Name | None = None
    thread_id: Short | int | None = None
    best_effort: bool | None = None


ScheduleParams = Annotated[AtParams | EveryParams | CronParams, Field(discriminator="kind")]
PayloadParams = Annotated[EventParams | TurnParams, Field(discriminator="kind")]
Target = Annotated[str, Field(pattern="^(main|isolated|current|session:.+)$", max_length=LONGEST_TARGET)]
WakeMode = Annotated[Wake, Field(strict=False)]
OnMissed = Annotated[Missed, Field(strict=False)]
OnOverlap = Annotated[Overlap, Field(strict=False)]


class PatchParams(Params):
    """What is given is changed."""

    name: Name | None = None
    agent_id: AgentId | None = None
    session_key: SessionName | None = None
    description: Annotated[str, Field(max_length=LONGEST_DESCRIPTION)] | None = None
    enabled: bool | None = None
    delete_after_run: bool | None = None
    schedule: ScheduleParams | None = None
    session_target: Target | None = None
    wake_mode: WakeMode | None = None
    payload: PayloadParams | None = None
    delivery: DeliveryParams | None = None
    missed: OnMissed | None = None
    overlap: OnOverlap | None = None


class AddParams(PatchParams):
    name: Name
    schedule: ScheduleParams
    payload: PayloadParams


class JobParams(Params):
    id: Name | None = None
    job_id: Name | None = None

    @property
    def named(self) -> str | None:
        return self.id or self.job_id


class UpdateParams(JobParams):
    patch: PatchParams


class RunParams(JobParams):
    mode: Literal["due", "force", "if-enabled"] = "force"
    expected_process_instance_id: Name | None = None


class RunsParams(JobParams):
    """The history of one job, or with the `scope` `all` of every one, also of those that are gone."""

    scope: Literal["job", "all"] = "job"
    agent_id: AgentId | None = None
    limit: Annotated[int, Field(ge=1, le=MOST)] = 50
    offset: Count = 0
    sort_dir: Literal["desc"] = "desc"


class ListParams(Params):
    include_disabled: bool = False
    limit: Annotated[int, Field(ge=1, le=MOST)] = 50
    offset: Count = 0
    query: Short = ""
    enabled: Literal["all", "enabled", "disabled"] | None = None
    schedule_kind: Literal["all", "at", "every", "cron"] = "all"
    agent_id: AgentId | None = None
    sort_by: Literal["nextRunAtMs", "updatedAtMs", "name"] = "nextRunAtMs"
    sort_dir: Literal["asc", "desc"] = "asc"
    compact: bool = False
    include_delivery_previews: bool = False


class WakeParams(Params):
    mode: WakeMode
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_EVENT)]
    session_key: SessionName | None = None
    agent_id: AgentId | None = None


class JobFacts(TypedDict):
    id: str
    name: str
    enabled: bool
    createdAtMs: int
    updatedAtMs: int
    agentId: str
    schedule: JsonObject
    sessionTarget: str
    wakeMode: str
    payload: JsonObject
    delivery: JsonObject
    state: JsonObject
    configRevision: str


class JobRow(JobFacts):
    description: NotRequired[str]
    deleteAfterRun: NotRequired[bool]
    missed: NotRequired[str]
    overlap: NotRequired[str]


class Listed(TypedDict):
    jobs: list[JobRow]
    snapshotRevision: str
    total: int
    offset: int
    limit: int
    hasMore: bool
    nextOffset: int | None
    deliveryPreviews: JsonObject


class Standing(TypedDict):
    enabled: bool
    storePath: str
    jobs: int
    nextWakeAtMs: int | None


class Removed(TypedDict):
    ok: bool
    removed: bool


class Ran(TypedDict):
    ok: bool
    enqueued: bool
    runId: str | None
    processInstanceId: str


class History(TypedDict):
    entries: list[JsonObject]
    total: int
    offset: int
    limit: int
    hasMore: bool
    nextOffset: int | None


class Woken(TypedDict):
    ok: bool
    mode: str


LIST = Method(
    name="cron.list",
    about="A page of the jobs, by their next run.",
    params=ListParams,
    result=Listed,
    needs=Scope.READ,
    owners=True,
)
STATUS = Method(
    name="cron.status",
    about="Whether jobs run, how many there are, and when the next is due.",
    params=NoParams,
    result=Standing,
    needs=Scope.READ,
    owners=True,
)
GET = Method(
    name="cron.get",
    about="One job.",
    params=JobParams,
    result=JobRow,
    needs=Scope.READ,
    owners=True,
)
ADD = Method(
    name="cron.add",
    about="Adds a job.",
    params=AddParams,
    result=JobRow,
    needs=Scope.ADMIN,
    owners=True,
)
UPDATE = Method(
    name="cron.update",
    about="Changes a job.",
    params=UpdateParams,
    result=JobRow,
    needs=Scope.ADMIN,
    owners=True,
)
REMOVE = Method(
    name="cron.remove",
    about="Removes a job; what came of it stays until its time is over.",
    params=JobParams,
    result=Removed,
    needs=Scope.ADMIN,
    owners=True,
)
RUN = Method(
    name="cron.run",
    about="Runs a job now, or if it is due.",
    params=RunParams,
    result=Ran,
    needs=Scope.ADMIN,
    owners=True,
)
RUNS = Method(
    name="cron.runs",
    about="What came of a job, or of all of them, newest first.",
    params=RunsParams,
    result=History,
    needs=Scope.READ,
    owners=True,
)
WAKE = Method(
    name="wake",
    about="Leaves a line for a session's next turn, or begins one for it.",
    params=WakeParams,
    result=Woken,
    needs=Scope.WRITE,
)
