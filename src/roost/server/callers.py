"""Those whose request over HTTP is under way, each with the credential it was let in by, and why somebody is sent away."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from roost.protocol.handshake import POLICY_VIOLATION, SERVICE_RESTART, TRY_AGAIN
from roost.server.auth import Admitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissal:
    """Why somebody who was in is sent away: how a connection is closed, and what a request is answered."""

    close: int
    status: int
    kind: str
    reason: str


REVOKED = Dismissal(close=POLICY_VIOLATION, status=401, kind="unauthorized", reason="credential revoked")
UNCHECKED = Dismissal(
    close=TRY_AGAIN,
    status=503,
    kind="unavailable",
    reason="the gateway cannot check credentials now; come again",
)
LEAVING = Dismissal(
    close=SERVICE_RESTART, status=503, kind="unavailable", reason="the gateway stops; come again"
)


@dataclass(slots=True, eq=False, kw_only=True)
class Stay:
    """A request under way, by whom; None for who shows nothing that could be taken back. Once it was dismissed, `why`
    says so."""

    admitted: Admitted | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    why: Dismissal = REVOKED

    @property
    def revoked(self) -> bool:
        return self.scope.cancel_called and self.why is REVOKED

    def dismiss(self, why: Dismissal) -> None:
        self.why = why
        self.scope.cancel()


class Callers:
    def __init__(self) -> None:
        self._all: set[Stay] = set()
        self._left = anyio.Event()

    def __iter__(self) -> Iterator[Stay]:
        return iter(tuple(self._all))

    @contextmanager
    def staying(self, admitted: Admitted | None = None) -> Iterator[Stay]:
        """As long as its credential holds; what is done in the block is cancelled when it is dismissed."""
        stay = Stay(admitted=admitted)
        with stay.scope:
            self._all.add(stay)
            try:
                yield stay
            finally:
                self._all.discard(stay)
                self._left.set()
                self._left = anyio.Event()

    async def all_gone(self) -> None:
        while self._all:
            await self._left.wait()
