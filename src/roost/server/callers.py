"""Those whose request over HTTP is under way, each with the credential it was let in by."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from roost.server.auth import Admitted


class Callers:
    def __init__(self) -> None:
        self._all: dict[anyio.CancelScope, Admitted] = {}

    def __iter__(self) -> Iterator[tuple[anyio.CancelScope, Admitted]]:
        return iter(tuple(self._all.items()))

    @contextmanager
    def staying(self, admitted: Admitted) -> Iterator[anyio.CancelScope]:
        """As long as its credential holds; what is done in the block is cancelled when that is taken back."""
        with anyio.CancelScope() as scope:
            self._all[scope] = admitted
            try:
                yield scope
            finally:
                del self._all[scope]
