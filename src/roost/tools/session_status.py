"""`session_status`: how a session stands; also sets its model, at a person's word."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from roost.core import toolnames
from roost.core.effects import ChangeSession, Effects
from roost.core.errors import Forbidden
from roost.core.exchanges import CompletionStatus
from roost.core.jsonvalue import JsonValue
from roost.core.keys import KeyKind, SessionKey
from roost.core.listing import delivery_context
from roost.core.messages import AssistantMessage, ProvenanceKind, UserMessage
from roost.core.models import ModelSpec, ToolSpec
from roost.core.queries import HistoryQuery, LedgerQuery
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.snapshots import Snapshot
from roost.core.statuscard import AnsweringModel, StatusCard, occasion_of, status_text
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.core.visibility import Operation
from roost.ports import Report
from roost.tools.access import Access, Found
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import looked_up, told

CLEAR = "default"
LOOKED_BACK = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """What there is to choose from: `find` raises what is wrong with a name, `answering` says who answers next in a
    session, and why."""

    find: Callable[[str], ModelSpec]
    answering: Callable[[Session], AnsweringModel]


class SessionStatus:
    traits = ToolTraits(reenterable=True)
    spec = ToolSpec(
        name=toolnames.SESSION_STATUS,
        description=(
            "Show how a session stands: status, model, context, usage, time, and the work linked to it. With `model`, "
            "first set the model of that session from its next run on; do so only if a person asked for it."
        ),
        parameters=object_schema(
            {
                "sessionKey": {
                    "type": "string",
                    "description": "A key from sessions_list, `main`, `current` or a session id. Default: current.",
                },
                "model": {
                    "type": "string",
                    "description": "Model to set, `provider/model` or an alias; `default` clears it.",
                },
            }
        ),
    )

    def __init__(self, access: Access, models: Models) -> None:
        self._access = access
        self._models = models

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await looked_up(self._status(invocation))

    async def _status(self, invocation: Invocation) -> ToolOutcome:
        arguments = Arguments(self.spec, invocation.arguments)
        name = arguments.text_or("sessionKey", "current")
        meant = await self._access.find(Operation.STATUS, name, invocation)
        session, changed = meant.session, False
        if arguments.has("model"):
            session, changed = await self._set_model(arguments.text("model"), meant, invocation)
        card = await self._card(session, invocation)
        text = status_text(card)
        details: dict[str, JsonValue] = {
            "ok": True,
            "sessionKey": card.key,
            "agentId": session.key.agent or self._access.reach.agent,
            "changedModel": changed,
            "statusText": text,
            "model": card.model.name,
            "modelOverride": session.overrides.model,
            "stateVersion": session.version,
            "origin": session.origin.provider or session.key.channel,
            "active": bool(card.active),
            "deliveryContext": None if session.route is None else delivery_context(session.route),
        }
        return told(text, details=details)

    async def _set_model(self, wanted: str, meant: Found, invocation: Invocation) -> tuple[Session, bool]:
        """The session with its model set, and whether that changed it. What a person set stays through resets, so
        nobody else may set it."""
        await self._access.require(Operation.PATCH, meant, invocation)
        if invocation.cause.kind is not ProvenanceKind.HUMAN:
            raise Forbidden(
                "a session's model is set only at a person's word, and no person asked for this run",
                hint="leave `model` out, or tell the person",
            )
        cleared = wanted.strip().lower() == CLEAR
        chosen = None if cleared else str(self._models.find(wanted).ref)

        def decide(snapshot: Snapshot) -> Effects:
            current = snapshot.session
            if current is None or current.overrides.model == chosen:
                return ()
            return (ChangeSession(key=current.key, overrides=replace(current.overrides, model=chosen)),)

        key, before = meant.session.key, meant.session.overrides.model
        after = await self._access.store.change_session(key, decide) or meant.session
        return after, before != chosen

    async def _card(self, session: Session, invocation: Invocation) -> StatusCard:
        store = self._access.store
        active = await store.active_runs(session.key)
        return StatusCard(
            session=session,
            key=self._access.shown(session.key, invocation),
            now=self._access.clock.now(),
            model=self._models.answering(session),
            context=session.counters.total or await self._last_counted(session),
            usage=await store.usage(LedgerQuery(key=session.key)),
            active=active,
            linked=(
                *await self._occasions(session, active),
                *await self._linked(session.key, active, invocation),
            ),
        )

    async def _last_counted(self, session: Session) -> int | None:
        """The size of the context as the transcript has it, where the row has none."""
        query = HistoryQuery(key=session.key, session_id=session.session_id, tools=False, limit=LOOKED_BACK)
        bodies = [entry.body for entry in (await self._access.store.history(query)).entries]
        counted = (body.usage.total for body in reversed(bodies) if isinstance(body, AssistantMessage))
        return next(filter(None, counted), None)

    async def _occasions(self, session: Session, active: tuple[Run, ...]) -> tuple[str, ...]:
        """The job, hook or look-around that a run under way was started for."""
        query = HistoryQuery(key=session.key, session_id=session.session_id, tools=False, limit=LOOKED_BACK)
        under_way = {run.id for run in active}
        found = [f"cron job {session.key.name}"] if session.key.kind is KeyKind.CRON else []
        for entry in (await self._access.store.history(query)).entries if under_way else ():
            if entry.run_id in under_way and isinstance(entry.body, UserMessage):
                named = occasion_of(entry.body.provenance.source_tool or "")
                found += [] if named is None else [named]
        return tuple(dict.fromkeys(found))

    async def _linked(
        self, key: SessionKey, active: tuple[Run, ...], invocation: Invocation
    ) -> tuple[str, ...]:
        """Children that are at work, and what owns the run; sessions the caller may not see are not named."""
        store = self._access.store
        owed = await store.completions(key)
        children = [one.child for one in owed if one.status is CompletionStatus.PENDING]
        ids = [run.request.exchange_id for run in active if run.request.exchange_id is not None]
        exchanges = [one for name in ids if (one := await store.exchange(name)) is not None]
        known = await self._access.visible(
            frozenset((*children, *(one.requester for one in exchanges))), invocation
        )
        shown = self._access.shown
        return (
            *(f"child {shown(child, invocation)}" for child in children if child in known),
            *(
                f"exchange {one.id} ({one.state})"
                + (f" asked for by {shown(one.requester, invocation)}" if one.requester in known else "")
                for one in exchanges
            ),
        )
