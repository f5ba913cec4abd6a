"""Sessions: opening, changing and ending them."""

from typing import Literal, Required, TypedDict

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.sessions import KeyParams
from roost.protocol.method import Method
from roost.protocol.params import AgentId, Count, Name, Params, Positive, Said, SessionName, Short
from roost.protocol.scopes import Scope

# What whoever may write in a session may set on it; everything else is the administrator's.
_WRITER_MAY_SET = frozenset(
    {"key", "agent_id", "label", "archived", "pinned", "unread", "model", "thinking_level"}
)
_CONDITIONS = frozenset({"expected_session_id", "expected_lifecycle_revision", "expected_marked_unread_at"})


class CreateParams(Params):
    """A session that is there already is left as it is. `parentSessionKey` must be one that the caller may see; the new one
    stands for itself and hangs below none."""

    key: SessionName | None = None
    idempotency_key: Name | None = None
    agent_id: AgentId | None = None
    label: Name | None = None
    display_name: Name | None = None
    title_source: Short | None = None
    model: Name | None = None
    thinking_level: Name | None = None
    parent_session_key: SessionName | None = None
    emit_command_hooks: bool = False
    succeeds_parent: bool = False
    message: Said | None = None
    timeout_ms: Count | None = None


class Created(TypedDict, total=False):
    ok: bool
    key: str
    sessionId: str
    entry: JsonObject
    runStarted: bool
    runId: str
    resolved: JsonObject


class Conditions(KeyParams):
    """What a caller saw; if it is so no more, nothing is changed."""

    expected_session_id: Name | None = None
    expected_lifecycle_revision: Name | None = None


class PatchParams(Conditions):
    """What is left out stays as it is; null is the default again."""

    expected_marked_unread_at: float | None = None
    label: Name | None = None
    archived: bool | None = None
    pinned: bool | None = None
    unread: bool | None = None
    model: Name | None = None
    thinking_level: Name | None = None
    verbose_level: Name | None = None
    reasoning_level: Name | None = None
    response_usage: Name | None = None
    send_policy: Literal["allow", "deny"] | None = None
    group_activation: Literal["mention", "always"] | None = None


class Changed(TypedDict):
    ok: bool
    path: str
    key: str
    entry: JsonObject
    resolved: JsonObject


class ResetParams(KeyParams):
    reason: Literal["new", "reset"] = "reset"
    expected_session_id: Name | None = None


class DeleteParams(Conditions):
    """The transcript always goes with its session: a `deleteTranscript` of false is refused."""

    delete_transcript: bool = True
    expected_session_updated_at: float | None = None
    emit_lifecycle_hooks: bool = False
    archived_only: bool = False


class Deleted(TypedDict):
    ok: bool
    key: str
    deleted: bool
    archived: list[str]


class CompactParams(KeyParams):
    max_lines: Positive | None = None


class Compacted(TypedDict, total=False):
    """`reason` says why it was not."""

    ok: Required[bool]
    key: Required[str]
    compacted: Required[bool]
    reason: str


class SendParams(KeyParams):
    message: Said
    thinking: Short | None = None
    timeout_ms: Count | None = None
    idempotency_key: Name | None = None


class AbortParams(Params):
    """To stop everything in a session drops what waits in it; what waits behind a run that is stopped goes on. A
    `clearQueued` that asks for anything else is refused."""

    key: SessionName | None = None
    run_id: Name | None = None
    agent_id: AgentId | None = None
    clear_queued: bool | None = None


class Aborted(TypedDict):
    ok: bool
    abortedRunId: str | None
    status: Literal["aborted", "no-active-run"]


class ForkParams(Params):
    """`entryId` is what somebody said."""

    session_key: SessionName
    agent_id: AgentId | None = None
    entry_id: Name


class Forked(TypedDict, total=False):
    """`editorText` and `editorAttachments` are what was said there, to be said otherwise."""

    sessionKey: Required[str]
    editorText: str
    editorAttachments: list[JsonObject]


class CleanupParams(Params):
    """`enforce` also where the policy only warns. Retention looks at all agents, and no transcript is ever missing."""

    agent: Name | None = None
    all_agents: bool = False
    enforce: bool = False
    active_key: SessionName | None = None
    fix_missing: bool = False
    fix_dm_scope: bool = False


class Cleaned(TypedDict):
    allAgents: Literal[True]
    mode: Literal["enforce", "warn"]
    dryRun: Literal[False]
    stores: list[JsonObject]


def patch_scope(params: PatchParams) -> Scope:
    """`operator.write` for label, archived, pinned, unread, model and thinkingLevel; `operator.admin` for the rest."""
    return Scope.WRITE if params.model_fields_set <= _WRITER_MAY_SET | _CONDITIONS else Scope.ADMIN


def delete_scope(params: DeleteParams) -> Scope:
    """`operator.admin`; `operator.write` with archivedOnly."""
    return Scope.WRITE if params.archived_only else Scope.ADMIN


CREATE = Method(
    name="sessions.create",
    about="Opens a session, with its first message if one is given.",
    params=CreateParams,
    result=Created,
    needs=Scope.WRITE,
)
PATCH = Method(
    name="sessions.patch",
    about="Changes settings of a session; one that is not there is opened.",
    params=PatchParams,
    result=Changed,
    needs=patch_scope,
)
RESET = Method(
    name="sessions.reset",
    about="Starts a conversation afresh; the old one is kept.",
    params=ResetParams,
    result=Changed,
    needs=Scope.ADMIN,
)
DELETE = Method(
    name="sessions.delete",
    about="Removes a session with its transcripts; the main session, or one that another goes on from, cannot be.",
    params=DeleteParams,
    result=Deleted,
    needs=delete_scope,
)
COMPACT = Method(
    name="sessions.compact",
    about="Condenses a conversation for the model, and says whether that was done; the transcript stays as it is. `maxLines` is refused.",
    params=CompactParams,
    result=Compacted,
    needs=Scope.ADMIN,
)
SEND = Method(
    name="sessions.send",
    about="Says something in a session; as `chat.send`.",
    params=SendParams,
    result=dict[str, JsonValue],
    needs=Scope.WRITE,
)
ABORT = Method(
    name="sessions.abort",
    about="Stops a run, or everything in a session.",
    params=AbortParams,
    result=Aborted,
    needs=Scope.WRITE,
)
FORK = Method(
    name="sessions.fork",
    about="Opens a session that goes on from where something was said in another, before it was said.",
    params=ForkParams,
    result=Forked,
    needs=Scope.WRITE,
    owners=True,
)
CLEANUP = Method(
    name="sessions.cleanup",
    about="Removes what retention would remove in its time.",
    params=CleanupParams,
    result=Cleaned,
    needs=Scope.ADMIN,
    owners=True,
)
