"""Plays a claimed run to its end, whatever the end is, and commits what follows from it."""

import logging
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from anyio.lowlevel import cancel_shielded_checkpoint

from roost.core import stopping
from roost.core.announce import announcement, stats_at_end
from roost.core.budgets import Budgets
from roost.core.effects import Effects
from roost.core.endings import OVERDUE, Ending, completes
from roost.core.errors import Fenced, RoostError
from roost.core.finishing import End, Played, conclude
from roost.core.heartbeats import acknowledged
from roost.core.leases import Lease
from roost.core.messages import AssistantMessage, StopReason, text_of, tool_calls
from roost.core.previews import RunOver
from roost.core.prose import unleaked
from roost.core.redaction import redact
from roost.core.runs import Outcome, Run, RunKind, RunState
from roost.core.sessions import Overrides
from roost.core.snapshots import Advance, RunSnapshot
from roost.core.upkeep import Upkeep
from roost.engine.feed import Feed
from roost.engine.keeping import until_kept
from roost.engine.means import HasToWait
from roost.engine.rulebook import Rulebook
from roost.engine.rules import Part, Rules
from roost.engine.stops import Stops
from roost.engine.toolnotices import ToolNotices
from roost.engine.tracing import traced
from roost.engine.turn import NothingToAnswer, Turn
from roost.engine.upkeeping import Compacting, Flushing
from roost.engine.voice import Voice
from roost.engine.work import Headway, Lent, Playing, Work
from roost.ports import Clock, Store
from roost.ports.limits import OutOfTime, watched

_log = logging.getLogger(__name__)

BROKEN = "something broke in the gateway"

Player: TypeAlias = Turn | Compacting | Flushing


class Runner:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        book: Rulebook,
        stops: Stops,
        feed: Feed,
    ) -> None:
        self._store = store
        self._feed = feed
        self._clock = clock
        self._book = book
        self._stops = stops

    async def run(self, run: Run, lent: Lent = nullcontext) -> None:
        """Play one claimed run. One that is no longer ours is left to whoever has it now."""
        _log.debug("run %s begins", run.id, extra=traced(run))
        ended = await self._spoken(run, lent)
        if ended is not None:
            # Whoever waits for it hears of it first.
            await cancel_shielded_checkpoint()
            state = ended.outcome.state if ended.outcome else ended.state
            _log.info("run %s ended as %s", run.id, state, extra=traced(run))

    async def _spoken(self, run: Run, lent: Lent) -> Run | None:
        """A run that has ended here. Its end is the last that is heard of it: who could not hear that finds nobody speaking."""
        with self._feed.speaking(run) as voice, self._book.reading() as rules:
            end = await self._end(run, lent, voice, rules)
            if end is None:
                return None
            try:
                over = await until_kept(self._clock, partial(self._finish, run, end))
            except Fenced as error:
                _log.warning("run %s is given up here: %s", run.id, error, extra=traced(run))
                return None
            except Exception:  # noqa: BLE001 — a run without an end would hold its session for good
                _log.exception("the end of run %s could not be kept as it was", run.id, extra=traced(run))
                broken = replace(self._failed(RunState.FAILED, RoostError(BROKEN)), spent=end.spent)
                over = await until_kept(self._clock, partial(self._finish, run, broken))
            voice.over(over)
            return over.run

    async def give_up(self, lease: Lease, run: Run) -> None:
        """End a run that yielded and that nobody went on with until its time was over."""
        end = self._failed(RunState.TIMEOUT, OutOfTime(OVERDUE))
        with self._feed.speaking(run) as voice:
            ended = await self._store.give_up(lease, run.id, await self._conclusion(run, end))
            if ended is None:
                return
            _log.info("run %s ended as %s: %s", run.id, end.outcome.state, OVERDUE, extra=traced(run))
            session = await self._store.session(run.key)
            if session is not None:
                voice.begin(session)
                voice.over(RunOver(run=ended, words=None, overrides=session.overrides))

    async def _end(self, run: Run, lent: Lent, voice: Voice, rules: Rules) -> End | None:
        """How a run ended, whatever happened in it: one without an end would hold its session for good.

        One that has to wait for its budget has not ended.
        """
        try:
            return await self._play(run, lent, voice, rules)
        except HasToWait:
            return None
        except Fenced as error:
            return self._failed(RunState.KILLED, error)
        except RoostError as error:
            return self._failed(RunState.FAILED, error)
        except Exception:  # noqa: BLE001 — the root of the run's task: one broken run must not end the gateway
            _log.exception("run %s broke", run.id, extra=traced(run))
            return self._failed(RunState.FAILED, RoostError(BROKEN))

    async def _play(self, run: Run, lent: Lent, voice: Voice, rules: Rules) -> End:
        found = await self._store.conversation(run.session_id) if run.session_id else None
        if found is None or run.claim is None:
            raise Fenced(f"run {run.id} has no session to run on")
        session = found.session
        voice.begin(session)
        part = rules.part(found, run)

        def recast() -> Part | None:
            now, acting = self._book.current, work.run
            same = now is rules and acting.cause.principal == run.cause.principal
            return None if same else now.cast(session, acting)

        budgets = Budgets(limits=rules.budgets, zone=rules.zone, met=rules.met_at)
        notices = ToolNotices(self._store, self._clock, self._book, run)
        work = Work(
            store=self._store,
            clock=self._clock,
            claim=run.claim,
            conversation=found,
            playing=Playing(part),
            headway=Headway(run=run, moved_at=self._clock.now()),
            lent=lent,
            voice=voice,
            doors=rules.door,
            budgets=budgets,
            recast=recast,
            notices=notices,
            silence_ms=rules.stream_idle_ms,
        )
        player = self._player(work, rules)
        with self._stops.around(run.id) as stop:
            try:
                end = await self._watched(work, player, rules)
            except (Fenced, NothingToAnswer) as error:
                # The claim is gone, or only the generation: the store knows which when the run is finished.
                end = self._failed(RunState.KILLED, error)
            return replace(end, spent=work.bill())
        reason = stop.reason or "stopped"
        outcome = Outcome(state=RunState.KILLED, at=self._clock.now(), error=reason, code="stopped")
        words = player.left_off(StopReason.ABORTED, reason)
        return End(outcome=outcome, played=Played(words=words), spent=work.bill())

    def _player(self, work: Work, rules: Rules) -> Player:
        match work.run.request.kind:
            case RunKind.COMPACTION:
                return Compacting(work)
            case RunKind.FLUSH:
                return Flushing(work)
            case _:
                return Turn(work, rules.most_steps)

    async def _watched(self, work: Work, player: Player, rules: Rules) -> End:
        """The end of a turn that is given up when nothing happens in it for too long, or at its deadline."""
        deadline = work.run.due

        def left() -> int:
            idle = rules.idle_ms - work.idle_ms
            return idle if deadline is None else min(idle, deadline - self._clock.now())

        if deadline is not None and deadline <= self._clock.now():
            return self._failed(RunState.TIMEOUT, OutOfTime("its time was over before it began"))
        try:
            played = await watched(self._clock, left, player.play)
        except (Fenced, HasToWait, NothingToAnswer):
            raise
        except OutOfTime as error:
            return self._broken_off(RunState.TIMEOUT, error, player)
        except RoostError as error:
            return self._broken_off(RunState.FAILED, error, player)
        except Exception:  # noqa: BLE001 — what had been said is kept, whatever broke
            _log.exception("run %s broke", work.run.id, extra=traced(work.run))
            return self._broken_off(RunState.FAILED, RoostError(BROKEN), player)
        outcome = replace(self._outcome(RunState.DONE, work), yielded=played.yielded)
        return End(outcome=outcome, played=played, follows=self._follows(work, played))

    def _follows(self, work: Work, played: Played) -> Upkeep | None:
        if played.load is None:
            return None
        return Upkeep(load=played.load, settings=work.part.context, zone=work.budgets.zone)

    def _outcome(self, state: RunState, work: Work) -> Outcome:
        return Outcome(
            state=state, at=self._clock.now(), model=str(work.part.spec.ref), model_reason=work.part.reason
        )

    def _broken_off(self, state: RunState, error: RoostError, player: Player) -> End:
        """What had been said stays in the transcript, with the reason why it goes no further."""
        words = player.left_off(StopReason.ERROR, str(error))
        return replace(self._failed(state, error), played=Played(words=words))

    def _failed(self, state: RunState, error: RoostError) -> End:
        told = Outcome(state=state, at=self._clock.now(), error=self._reason(error), code=error.code)
        return End(outcome=told)

    def _reason(self, error: RoostError) -> str:
        """What others are told of it, such as a requester and his chat: a provider may quote a credential."""
        scanner = self._book.current.commands.scanner
        return redact(str(error), scanner)[0] if scanner else str(error)

    async def _finish(self, run: Run, end: End) -> RunOver:
        if run.claim is None:
            raise Fenced(f"run {run.id} is not claimed")
        concluded, overrides = await self._conclusion(run, end), Overrides()

        def advance(snapshot: RunSnapshot) -> Effects:
            nonlocal overrides
            session = snapshot.session.session
            overrides = session.overrides if session else overrides
            return concluded(snapshot)

        ended = await self._store.finish_run(run.claim, advance)
        return RunOver(run=ended, words=end.played.words, took=end.took(), overrides=overrides)

    async def _conclusion(self, run: Run, end: End) -> Advance:
        rules, calls = self._book.current, await self._calls(run, end.outcome)

        def concluded(snapshot: RunSnapshot) -> Effects:
            stats = stats_at_end(
                snapshot,
                at=end.outcome.at,
                transcript=rules.house.transcript,
                unrecorded=(row.usage for row in end.spent),
            )
            ending = Ending(
                outcome=stopping.judged(snapshot.run, end.outcome),
                announce=partial(announcement, stats=stats),
                reply=_reply_of(run, end.played, rules),
                announce_ms=rules.house.announce_ms,
                tool_calls=calls,
                met=rules.met_at,
            )
            return conclude(snapshot, end, ending)

        return concluded

    async def _calls(self, run: Run, outcome: Outcome) -> int:
        """How many tool calls a child had made when its time was over."""
        if outcome.state is not RunState.TIMEOUT or run.request.requester is None or run.session_id is None:
            return 0
        own, entries = (run.id, completes(run)), await self._store.entries(run.session_id)
        said = (entry.body for entry in entries if entry.run_id in own)
        return sum(len(tool_calls(body)) for body in said if isinstance(body, AssistantMessage))


def _reply_of(run: Run, played: Played, rules: Rules) -> str | None:
    if played.words is None:
        return None
    text = text_of(played.words)
    beat = rules.house.timers.beat(run.key.agent)
    return acknowledged(unleaked(text), beat) if run.key.heartbeat else text
