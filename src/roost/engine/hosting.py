"""The channels of a gateway. Each is served by one gateway at a time, and by another one when that has gone."""

from collections.abc import Callable, Mapping
from functools import partial

import anyio
from anyio.abc import TaskGroup

from roost.core.addresses import Account
from roost.core.leases import Lease
from roost.engine.supervisor import Supervisor
from roost.ports import Channel, Clock, Receive, Store

LOOK_MS = 1_000


class ChannelHost:
    """`served` are the channels that are this gateway's at the moment."""

    def __init__(
        self, store: Store, clock: Clock, channels: Mapping[Account, Channel], supervisor: Supervisor
    ) -> None:
        self._store = store
        self._clock = clock
        self._channels = channels
        self._supervisor = supervisor
        self._scopes: dict[Account, anyio.CancelScope] = {}
        self._left = anyio.Event()
        self.served: dict[Account, Channel] = {}

    def unserved(self) -> frozenset[Account]:
        """The channels that wait for another gateway to go."""
        return frozenset(self._channels.keys() - self.served.keys())

    async def serve(
        self, lease: Lease, receive: Receive, group: TaskGroup, looked: Callable[[], None]
    ) -> None:
        """Serve what no other gateway does, in a task group, until cancelled; `looked` is told after each look."""
        while not self._left.is_set():
            try:
                ours = await self._store.host_channels(lease, self._channels.keys())
                if self._left.is_set():
                    # Left while it was asked for.
                    await self._store.leave_channels(lease)
                else:
                    self._settle(ours, receive, group)
            finally:
                looked()
            if self._store.exclusive:
                break
            await self._clock.sleep(LOOK_MS)
        await anyio.sleep_forever()

    async def leave(self, lease: Lease) -> None:
        """Serve none of them any more, and let others do it."""
        self._left.set()
        self._drop(frozenset(self.served))
        await self._store.leave_channels(lease)

    def _settle(self, ours: frozenset[Account], receive: Receive, group: TaskGroup) -> None:
        self._drop(self.served.keys() - ours)
        for account in sorted(ours - self.served.keys()):
            self.served[account] = self._channels[account]
            self._scopes[account] = scope = anyio.CancelScope()
            group.start_soon(partial(self._run, account, receive, scope), name=f"channel {account}")

    def _drop(self, accounts: frozenset[Account] | set[Account]) -> None:
        for account in accounts:
            del self.served[account]
            self._scopes.pop(account).cancel()

    async def _run(self, account: Account, receive: Receive, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                work = partial(self._channels[account].run, receive)
                await self._supervisor.keep(f"channel {account}", work)
        finally:
            # Also with the lease: under the next one it is served again.
            if self._scopes.get(account) is scope:
                self._drop({account})
