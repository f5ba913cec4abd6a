"""The means of a run's model calls: asked for before each call, so that no limit is passed."""

from dataclasses import replace
from typing import assert_never

from roost.core import parking
from roost.core.addresses import Address
from roost.core.budgets import Ask, Balances, Spender, accounts, most_usage
from roost.core.errors import RoostError
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.models import ModelRequest
from roost.core.parking import Forgone, Granted, Ruling, Waits
from roost.core.runs import Run
from roost.engine.work import Work


class HasToWait(RoostError):
    """There are no means for the next call; the run is in the queue again."""

    code = "over_budget"


class GoesWithout(RoostError):
    """There are no means for the next call, and what the run is about is done without one."""

    code = "over_budget"


class CallMeans:
    def __init__(self, work: Work) -> None:
        self._work = work

    async def reserve(self, call: LedgerRow, request: ModelRequest) -> None:
        """Hold the most a call can cost. If that is more than a limit leaves, raises `HasToWait`, or `GoesWithout` in a
        run that nobody asked for or that announces a child."""
        work, run = self._work, self._work.run
        if not work.budgets.limits:
            return
        root = await self._root()
        spender = Spender(key=run.key, root=root, principal=run.cause.principal)
        ask = Ask(
            accounts=accounts(work.budgets, spender, call.at),
            row=replace(call, usage=most_usage(request), estimated=True),
            priced=request.spec.prices is not None,
        )
        address = run.request.reply_to or await self._address(root)

        rulings: list[Ruling] = []

        def rule(run: Run, balances: Balances) -> Ruling:
            rulings.append(parking.rule(run, balances, ask, address))
            return rulings[-1]

        await work.store.reserve(work.claim, ask.names, rule)
        match rulings[-1]:
            case Granted():
                pass
            case Waits():
                raise HasToWait(f"run {run.id} has to wait for its budget")
            case Forgone():
                raise GoesWithout(f"run {run.id} goes without a call that its budget does not allow")
            case never:
                assert_never(never)

    async def _root(self) -> SessionKey:
        ancestors = await self._work.store.ancestors(self._work.run.key)
        return ancestors[-1] if ancestors else self._work.run.key

    async def _address(self, root: SessionKey) -> Address | None:
        """Where a run that answers to nobody is talked about: where its tree was last met."""
        session = await self._work.store.session(root)
        return None if session is None else self._work.budgets.met(session)
