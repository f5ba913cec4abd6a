"""Opening, changing and ending sessions."""

from dataclasses import replace

from roost.core import thinking
from roost.core.errors import InvalidInput, NotFound
from roost.core.footers import Reasoning, UsageLevel
from roost.core.jsonvalue import JsonObject
from roost.core.keys import KeyKind, SessionKey
from roost.core.labels import read_label
from roost.core.messages import Compaction
from roost.core.notices import derived_id
from roost.core.queries import HistoryQuery
from roost.core.sessions import Labels, OpenedBy, Overrides, SendOverride, Session, Verbosity
from roost.core.visibility import Operation
from roost.engine.operations import Change, Seen
from roost.protocol.families import changes
from roost.protocol.families.changes import Changed, Cleaned, Compacted, Created, Deleted
from roost.server.calls import Call
from roost.server.handlers.catalogue import defaults
from roost.server.handlers.cleaning import clean
from roost.server.handlers.talking import Talk, Words

_OVERRIDES = {
    "model": "model",
    "thinking_level": "thinking",
    "verbose_level": "verbose",
    "reasoning_level": "reasoning",
    "response_usage": "usage",
    "group_activation": "activation",
}


LONGEST_CONDENSING_MS = 600_000


class Changes:
    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    async def create(self, call: Call, params: changes.CreateParams) -> Created:
        """A session, opened under the key asked for or one of its own, and its first message if there is one."""
        house = call.house
        if params.parent_session_key is not None:
            # It hangs below none: only what an agent spawned does.
            await house.found(Operation.STATUS, call.caller, params.parent_session_key)
        if params.key is None:
            key = _fresh(call, params)
        else:
            key = await house.meant(Operation.SEND, call.caller, params.key, params.agent_id)
        overrides = Overrides(model=_model(call, params.model), thinking=_level(params.thinking_level))
        labels = Labels(label=_label(params.label), display_name=params.display_name)
        session = await house.engine.operations.open(call.caller, key, labels, overrides)
        created = Created(
            ok=True,
            key=str(key),
            sessionId=session.session_id,
            entry=house.rows.row(session),
            runStarted=False,
            resolved=_resolved(call, session),
        )
        if params.message and params.message.strip():
            name = params.idempotency_key or house.new_id()
            await self._talk.say(call, Words(key=key, text=params.message, name=name))
            created["runStarted"], created["runId"] = True, name
        return created


async def compact(call: Call, params: changes.CompactParams) -> Compacted:
    """Condensing is a run of its own; what came of it is told when that has ended."""
    if params.max_lines is not None:
        raise InvalidInput(
            "`maxLines` is not supported: nothing is cut off a transcript",
            hint="leave it out, and the older part is condensed for the model",
        )
    session = await call.house.find(Operation.PATCH, call.caller, params.key, params.agent_id)
    if session is None or not session.summary.entries:
        key = call.house.key(params.key, params.agent_id)
        return Compacted(ok=True, key=str(key), compacted=False, reason="nothing to condense")
    engine = call.house.engine
    queued = await engine.operations.condense(call.caller, session.key)
    run = await engine.waits.for_run(queued.run_id, session.key, LONGEST_CONDENSING_MS)
    done = Compacted(ok=True, key=str(session.key), compacted=False)
    if run is None:
        return done | {"reason": "the session was removed meanwhile"}
    if run.outcome is None:
        return done | {"reason": f"{queued.words} It has not ended yet."}
    if run.outcome.error is not None:
        return done | {"reason": run.outcome.error}
    if not await _condensed(call, session.key, queued.run_id):
        return done | {"reason": "the conversation is short enough already"}
    return done | {"compacted": True}


async def _condensed(call: Call, key: SessionKey, run_id: str) -> bool:
    page = await call.house.store.history(HistoryQuery(key=key))
    return any(one.run_id == run_id and isinstance(one.body, Compaction) for one in page.entries)


async def patch(call: Call, params: changes.PatchParams) -> Changed:
    key = await call.house.meant(Operation.PATCH, call.caller, params.key, params.agent_id)
    change = _change(call, params)
    session = await call.house.engine.operations.change(call.caller, key, change, _expected(params))
    return _changed(call, session)


async def reset(call: Call, params: changes.ResetParams) -> Changed:
    session = await call.house.find(Operation.RESET, call.caller, params.key, params.agent_id)
    if session is None:
        raise NotFound(f"No session found: {params.key}")
    reason = OpenedBy(params.reason)
    expected = params.expected_session_id
    seen = Seen(session_ids=frozenset({expected} if expected else ()))
    fresh = await call.house.engine.operations.reset(call.caller, session.key, reason, seen)
    changed = _changed(call, fresh)
    changed["entry"] = {**changed["entry"], "previousSessionId": session.session_id}
    return changed


async def delete(call: Call, params: changes.DeleteParams) -> Deleted:
    house = call.house
    if not params.delete_transcript:
        raise InvalidInput(
            "a transcript always goes with its session",
            hint="archive the session to keep both, or leave `deleteTranscript` out",
        )
    key = await house.meant(Operation.DELETE, call.caller, params.key, params.agent_id)
    if params.archived_only:
        session = await house.find(Operation.DELETE, call.caller, params.key, params.agent_id)
        if session is not None and session.times.archived is None:
            raise InvalidInput(f"session {key} is not archived", hint="archive it first")
    seen = replace(_expected(params), updated=params.expected_session_updated_at)
    gone = await house.engine.operations.delete(call.caller, key, seen)
    return Deleted(ok=True, key=str(key), deleted=gone is not None, archived=[])


async def cleanup(call: Call, params: changes.CleanupParams) -> Cleaned:
    """What retention removes now, for all agents at once."""
    for name, given, instead in (
        ("agent", params.agent, "leave it out: retention looks at all agents"),
        ("fixDmScope", params.fix_dm_scope, "archive the sessions that are no longer written to one by one"),
    ):
        if given:
            raise InvalidInput(f"invalid sessions.cleanup params: `{name}` is not supported", hint=instead)
    cleanup = await clean(call, params.active_key, enforce=params.enforce)
    return Cleaned(allAgents=True, mode=cleanup.mode, dryRun=False, stores=[cleanup.store])


def _expected(params: changes.Conditions) -> Seen:
    given = (params.expected_session_id, params.expected_lifecycle_revision)
    return Seen(session_ids=frozenset(one for one in given if one is not None))


def _fresh(call: Call, params: changes.CreateParams) -> SessionKey:
    """One that is made again by the same request of the same caller, if that has a name."""
    agent = params.agent_id or call.house.engine.rules.routing.default_agent
    asked = params.idempotency_key
    own = derived_id("created", str(call.caller.principal), asked) if asked else call.house.new_id()
    name = SessionKey(agent=agent, kind=KeyKind.DASHBOARD, name=own)
    return call.house.key(str(name))


def _change(call: Call, params: changes.PatchParams) -> Change:
    given = params.model_fields_set
    if params.unread:
        raise InvalidInput("what was read is not kept: a session cannot be marked as unread")
    values = {_OVERRIDES[name]: value for name, value in _checked(call, params).items() if name in given}
    if "send_policy" in given:
        values["send_policy"] = None if params.send_policy is None else SendOverride(params.send_policy)
    label = _label(params.label)

    def labels(before: Labels) -> Labels:
        return replace(before, label=label)

    def overrides(before: Overrides) -> Overrides:
        return replace(before, **values)  # type: ignore[arg-type]

    return Change(
        label=label,
        labels=labels if "label" in given else None,
        overrides=overrides if values else None,
        archived=bool(params.archived) if "archived" in given else None,
        pinned=bool(params.pinned) if "pinned" in given else None,
    )


def _label(given: str | None) -> str | None:
    return None if given is None else read_label(given)


def _checked(call: Call, params: changes.PatchParams) -> dict[str, str | SendOverride | None]:
    return {
        "model": _model(call, params.model),
        "thinking_level": _level(params.thinking_level),
        "verbose_level": _one_of("verboseLevel", params.verbose_level, tuple(Verbosity)),
        "reasoning_level": _one_of("reasoningLevel", params.reasoning_level, tuple(Reasoning)),
        "response_usage": _one_of("responseUsage", params.response_usage, tuple(UsageLevel)),
        "group_activation": params.group_activation,
    }


def _model(call: Call, name: str | None) -> str | None:
    return None if name is None else str(call.house.engine.rules.commands.models.ask_for(name).ref)


def _level(name: str | None) -> str | None:
    return _one_of("thinkingLevel", name, tuple(thinking.ThinkingLevel))


def _one_of(field: str, value: str | None, options: tuple[str, ...]) -> str | None:
    if value is not None and value not in options:
        raise InvalidInput(f"invalid {field}: {value}", hint=f"use one of {', '.join(options)}")
    return None if value is None else str(value)


def _changed(call: Call, session: Session) -> Changed:
    return Changed(
        ok=True,
        path=call.house.about.store_path,
        key=str(session.key),
        entry=call.house.rows.row(session),
        resolved=_resolved(call, session),
    )


def _resolved(call: Call, session: Session) -> JsonObject:
    """The model that answers next."""
    own, usual = session.overrides.model, defaults(call, session.key.agent)
    if own is None:
        return {"modelProvider": usual["modelProvider"], "model": usual["model"]}
    provider, _, model = own.partition("/")
    return {"modelProvider": provider, "model": model}
