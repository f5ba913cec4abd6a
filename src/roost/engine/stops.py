"""Runs that are under way in this process, and the way to end one."""

from collections import OrderedDict
from types import TracebackType
from typing import Self

import anyio

REMEMBERED = 1_024

STOPPED = "stopped by command"


class Stop:
    """Around a run. If it was ended, what is inside is cancelled and `reason` says why."""

    def __init__(self, runs: dict[str, "Stop"], run_id: str, reason: str | None) -> None:
        self._runs = runs
        self._run_id = run_id
        self._scope = anyio.CancelScope()
        self.reason = reason

    def end(self, reason: str) -> None:
        self.reason = self.reason or reason
        self._scope.cancel()

    def __enter__(self) -> Self:
        self._runs[self._run_id] = self
        self._scope.__enter__()
        if self.reason is not None:
            self._scope.cancel()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        del self._runs[self._run_id]
        return bool(self._scope.__exit__(kind, error, trace))


class Stops:
    """Also ends a run that was claimed and has not begun: the word is kept until it does."""

    def __init__(self) -> None:
        self._runs: dict[str, Stop] = {}
        self._early: OrderedDict[str, str] = OrderedDict()

    @property
    def underway(self) -> tuple[str, ...]:
        return tuple(self._runs)

    def around(self, run_id: str) -> Stop:
        return Stop(self._runs, run_id, self._early.pop(run_id, None))

    def end(self, run_id: str, reason: str) -> bool:
        """End a run; False if it is not under way here yet, or no more."""
        stop = self._runs.get(run_id)
        if stop is not None:
            stop.end(reason)
            return True
        self._early.setdefault(run_id, reason)
        if len(self._early) > REMEMBERED:
            self._early.popitem(last=False)
        return False
