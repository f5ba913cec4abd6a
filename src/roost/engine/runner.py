"""Plays a claimed run to its end, whatever the end is, and commits what follows from it."""

import logging
from contextlib import nullcontext, suppress
from dataclasses import dataclass

import anyio

from roost.core import finishing, sendpolicy
from roost.core.announce import announce_text, read_report
from roost.core.deliveries import Delivery, DeliveryKind
from roost.core.effects import AddDelivery, AppendEntries, Effects, RecordDenial, RunSnapshot
from roost.core.endings import Ending
from roost.core.entries import EntryDraft
from roost.core.errors import Fenced, RoostError
from roost.core.exchanges import Completion
from roost.core.ledger import Denial
from roost.core.messages import AssistantMessage, text_of
from roost.core.notices import derived_id, notice
from roost.core.runs import Outcome, Run, RunKind, RunState
from roost.core.splitting import split
from roost.engine.limits import OutOfTime, watched
from roost.engine.rules import Rules
from roost.engine.stops import Stops
from roost.engine.turn import NothingToAnswer, Turn
from roost.engine.work import Lent, Work
from roost.ports import Clock, Store

_log = logging.getLogger(__name__)

ANSWERED = frozenset({RunKind.TURN, RunKind.GREETING, RunKind.CONTINUATION})


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How a run ended, and its last words."""

    outcome: Outcome
    words: AssistantMessage | None = None


class Runner:
    def __init__(self, store: Store, clock: Clock, rules: Rules, stops: Stops, longest: int) -> None:
        self._store = store
        self._clock = clock
        self._rules = rules
        self._stops = stops
        self._longest = longest

    async def run(self, run: Run, lent: Lent = nullcontext) -> None:
        """Play one claimed run. One that is no longer ours is left to whoever has it now."""
        end = await self._end(run, lent)
        with anyio.CancelScope(shield=True), suppress(Fenced):
            await self._finish(run, end)

    async def _end(self, run: Run, lent: Lent) -> _End:
        """How a run ended, whatever happened in it: one without an end would hold its session for good."""
        try:
            return await self._play(run, lent)
        except (Fenced, NothingToAnswer) as error:
            # The claim is gone, or only the generation: the store knows which when the run is finished.
            return self._failed(RunState.KILLED, error)
        except RoostError as error:
            return self._failed(RunState.FAILED, error)
        except Exception:  # noqa: BLE001 — the root of the run's task: one broken run must not end the gateway
            _log.exception("run %s broke", run.id)
            return self._failed(RunState.FAILED, RoostError("something broke in the gateway"))

    async def _play(self, run: Run, lent: Lent) -> _End:
        session = await self._store.session(run.key)
        if session is None or run.claim is None:
            raise Fenced(f"run {run.id} has no session to run on")
        part = self._rules.cast(session, run)
        work = Work(self._store, self._clock, run, run.claim, session, part, lent)
        turn = Turn(work, self._rules.most_steps)
        with self._stops.around(run.id) as stop:
            return await self._watched(work, turn)
        reason = stop.reason or "stopped"
        outcome = Outcome(state=RunState.KILLED, at=self._clock.now(), error=reason, code="stopped")
        return _End(outcome=outcome, words=turn.left_off(reason))

    async def _watched(self, work: Work, turn: Turn) -> _End:
        """The end of a turn that is given up when nothing happens in it for too long, or at its deadline."""
        deadline = work.run.request.deadline

        def left() -> int:
            now = self._clock.now()
            longest = self._rules.idle_ms
            limit = min(longest, self._rules.stream_idle_ms) if work.asking else longest
            idle = limit - (now - work.moved_at)
            return idle if deadline is None else min(idle, deadline - now)

        try:
            words = await watched(self._clock, left, turn.play)
        except OutOfTime as error:
            return self._failed(RunState.TIMEOUT, error)
        return _End(outcome=self._outcome(RunState.DONE, work), words=words)

    def _outcome(self, state: RunState, work: Work) -> Outcome:
        return Outcome(
            state=state, at=self._clock.now(), model=str(work.part.spec.ref), model_reason=work.part.reason
        )

    def _failed(self, state: RunState, error: RoostError) -> _End:
        return _End(outcome=Outcome(state=state, at=self._clock.now(), error=str(error), code=error.code))

    async def _finish(self, run: Run, end: _End) -> None:
        if run.claim is None:
            return
        ending = Ending(
            outcome=end.outcome,
            announce=announcement,
            reply=text_of(end.words) if end.words else None,
            policy=self._rules.sending,
        )

        def advance(snapshot: RunSnapshot) -> Effects:
            return (
                *self._words(snapshot, end),
                *self._reply(snapshot, ending),
                *self._apology(snapshot, end),
                *finishing.finish(snapshot, ending),
            )

        await self._store.finish_run(run.claim, advance)

    def _words(self, snapshot: RunSnapshot, end: _End) -> Effects:
        if end.words is None or snapshot.reset_away:
            return ()
        draft = EntryDraft(id=derived_id(snapshot.run.id, "last"), body=end.words, run_id=snapshot.run.id)
        return (AppendEntries(key=snapshot.run.key, drafts=(draft,)),)

    def _reply(self, snapshot: RunSnapshot, ending: Ending) -> Effects:
        run, session = snapshot.run, snapshot.session.session
        address = run.request.reply_to
        if ending.said is None or address is None or run.request.kind not in ANSWERED or session is None:
            return ()
        verdict = sendpolicy.decide(
            self._rules.sending,
            run.key,
            override=session.overrides.send_policy,
            channel=address.channel,
            chat_type=session.facts.chat_type,
        )
        if not verdict.allowed:
            denial = Denial(
                at=ending.outcome.at,
                operation="send",
                principal=run.cause.principal,
                rule=verdict.rule,
                reason="the answer was not sent",
                caller=run.key,
            )
            return (RecordDenial(denial=denial),)
        return tuple(
            AddDelivery(
                delivery=Delivery(
                    id=derived_id(run.id, "reply", str(number)),
                    key=run.key,
                    address=address,
                    kind=DeliveryKind.REPLY,
                    text=part.text,
                    created_at=ending.outcome.at,
                    run_id=run.id,
                    ready_at=ending.outcome.at,
                )
            )
            for number, part in enumerate(split(ending.said, self._longest))
            if part.text.strip()
        )

    def _apology(self, snapshot: RunSnapshot, end: _End) -> Effects:
        """Who asked is told once that no answer will come."""
        run, outcome = snapshot.run, end.outcome
        if outcome.state not in (RunState.FAILED, RunState.TIMEOUT) or run.request.kind not in ANSWERED:
            return ()
        line = f"No answer: {outcome.error or outcome.state}."
        return notice(run.key, run.request.reply_to, line, at=outcome.at, about=run.id)


def announcement(completion: Completion, written: str | None) -> str:
    """How a child ended, around what it wrote for its requester."""
    return announce_text(completion, None, read_report(written) if written else None)
