"""The means of a run's model calls: asked for before each call, so that no limit is passed."""

from dataclasses import replace

from roost.core import parking
from roost.core.addresses import Address
from roost.core.budgets import Ask, Balances, Spender, accounts, most_usage
from roost.core.errors import RoostError
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.models import ModelRequest
from roost.core.parking import Ruling
from roost.core.runs import Run, RunState
from roost.engine.work import Work


class HasToWait(RoostError):
    """There are no means for the next call; the run is in the queue again."""

    code = "over_budget"


class Means:
    def __init__(self, work: Work) -> None:
        self._work = work

    async def reserve(self, call: LedgerRow, request: ModelRequest) -> None:
        """Hold the most a call can cost. Raises `HasToWait` if that is more than a limit leaves."""
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

        def rule(run: Run, balances: Balances) -> Ruling:
            return parking.rule(run, balances, ask, address)

        after = await work.store.reserve(work.claim, ask.names, rule)
        if after.state is not RunState.RUNNING:
            raise HasToWait(f"run {run.id} has to wait for its budget")

    async def release(self, call: LedgerRow) -> None:
        """Give back what a call holds that cost nothing."""
        if self._work.budgets.limits:
            await self._work.store.release(call.id)

    async def _root(self) -> SessionKey:
        ancestors = await self._work.store.ancestors(self._work.run.key)
        return ancestors[-1] if ancestors else self._work.run.key

    async def _address(self, root: SessionKey) -> Address | None:
        """Where a run that answers to nobody is talked about: where its tree was last met."""
        session = await self._work.store.session(root)
        return None if session is None else session.route
