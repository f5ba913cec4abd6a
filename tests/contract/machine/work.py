"""Runs: what they take, do and spend, and how they end."""

from dataclasses import replace
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from roost.core import parking
from roost.core.budgets import Ask, Budgets, BudgetScope, Limit, Measure, Spender, accounts
from roost.core.effects import AcceptInput, Effects, EndRun, KillInput, OweCompletion, PutExchange, QueueRun
from roost.core.entries import EntryDraft
from roost.core.exchanges import Completion, Exchange
from roost.core.inbound import Inbound, InputMode
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.runs import Lane, Outcome, RunState, Step
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.turntaking import Limits, choose
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.contract import pools, scenes
from tests.contract.machine.twins import Twins, pass_on


class Work(Twins):
    @rule(
        message=pools.inbound(),
        run_id=pools.runs,
        name=st.sampled_from(pools.GENERATIONS),
        ceiling=st.integers(0, 3),
    )
    def start(self, message: Inbound, run_id: str, name: str, ceiling: int) -> None:
        self._both(lambda store: store.accept_inbound(message, builders.accept(message, run_id, name)))
        limits = Limits(ceiling=ceiling, lanes={Lane.MAIN: 3})
        claimed = self._both(
            lambda store: store.claim_runs(self._lease(), lambda backlog: choose(backlog, limits))
        )
        self._claims += [scenes.claim_of(run) for run in claimed or ()]

    @rule(message=pools.inbound(), mode=pools.modes)
    def join(self, message: Inbound, mode: InputMode) -> None:
        def decide(snapshot: Snapshot) -> Effects:
            runs = (snapshot.running, *snapshot.queued)
            seat = next((run for run in runs if run), None)
            if seat is None:
                return (KillInput(inbound_id=message.id, reason="nobody", inbound=message),)
            return (AcceptInput(inbound=message, run_id=seat.id, mode=mode),)

        self._both(lambda store: store.accept_inbound(message, decide))

    @precondition(lambda self: self._claims)
    @rule(age=pools.ages, step=pools.steps, drafts=pools.drafts(), astray=pools.rare_keys)
    def work(self, age: int, step: Step, drafts: tuple[EntryDraft, ...], astray: SessionKey | None) -> None:
        claim = self._claim(age)

        async def speak(store: Store) -> object:
            run = await store.run(claim.id)
            return await store.append(astray or (run.key if run else MAIN), drafts, claim=claim)

        self._both(lambda store: store.take_inputs(claim, scenes.as_entries))
        self._both(lambda store: store.begin_step(claim, step))
        self._both(speak)

    @precondition(lambda self: self._claims)
    @rule(age=pools.ages, outcome=pools.outcomes, more=pools.several_effects, plain=st.booleans())
    def finish(self, age: int, outcome: Outcome, more: Effects, plain: bool) -> None:
        claim = self._claim(age)

        def advance(snapshot: RunSnapshot) -> Effects:
            ended = replace(builders.done(claim.id), outcome=outcome)
            return (*pass_on(snapshot), ended, *(() if plain else more))

        self._both(lambda store: store.finish_run(claim, advance))

    @precondition(lambda self: self._claims)
    @rule(age=pools.ages, row=pools.ledger_rows, hard=st.integers(5, 60), released=st.booleans())
    def spend(self, age: int, row: LedgerRow, hard: int, released: bool) -> None:
        claim = self._claim(age)
        limits = tuple(
            Limit(scope=scope, measure=Measure.TOKENS, soft=5, hard=hard)
            for scope in (BudgetScope.PERSON, BudgetScope.DAY)
        )
        spender = Spender(key=row.key, root=row.key, principal=row.principal)
        ask = Ask(
            accounts=accounts(Budgets(limits=limits), spender, self._clock.now()),
            row=replace(row, run_id=claim.id, at=self._clock.now(), estimated=True),
            priced=True,
        )
        decide = partial(parking.rule, ask=ask, address=pools.ADDRESSES[0])
        self._both(lambda store: store.reserve(claim, ask.names, decide))
        if released:
            self._both(lambda store: store.release(row.id))

    @rule(age=pools.ages)
    def wake(self, age: int) -> None:
        self._both(lambda store: store.wake_parked(self._lease(age)))

    @rule(
        before=st.none() | pools.exchanges,
        after=pools.exchanges,
        more=pools.several_effects,
        plain=st.booleans(),
    )
    def talk(self, before: Exchange | None, after: Exchange, more: Effects, plain: bool) -> None:
        """A step of an exchange that began just now or long ago, or of none."""
        if before:
            self._change(PutExchange(exchange=before))
        name = before.id if before else after.id
        effects = (PutExchange(exchange=after), *(() if plain else more))
        self._seen(lambda store, seen: store.change_exchange(name, seen), effects)

    @rule(
        age=pools.ages,
        run_id=pools.runs,
        until=st.none() | pools.moments,
        awaited=st.none() | pools.completions,
        outcome=pools.outcomes,
    )
    def give_up(
        self, age: int, run_id: str, until: int | None, awaited: Completion | None, outcome: Outcome
    ) -> None:
        """A run that waited too long for a child, or for nothing any more."""
        self._change(QueueRun(run=builders.run(run_id)))
        run = self._both(lambda store: store.run(run_id))
        if run and awaited:
            self._change(OweCompletion(completion=replace(awaited, requester=run.key, batch=run_id)))
        yielded = Outcome(state=RunState.DONE, at=self._clock.now(), yielded=True, until=until)
        self._change(EndRun(run_id=run_id, outcome=yielded))

        def advance(snapshot: RunSnapshot) -> Effects:
            return (*pass_on(snapshot), replace(builders.done(run_id), outcome=outcome))

        self._both(lambda store: store.give_up(self._lease(age), run_id, advance))

    @rule(age=pools.ages, known=st.booleans())
    def unclaim(self, age: int, known: bool) -> None:
        """Who holds a lease does not know of some of what it claimed."""
        claims = (*self._claims, *self._sends) if known else ()
        self._both(lambda store: store.unclaim_runs(self._lease(age), claims))
        self._both(lambda store: store.unclaim_deliveries(self._lease(age), claims))
