"""Messages that clients sent, by the names they gave them: a run is known to clients by the key of its message.

Kept in this process only. After a restart a run goes by its own id; waiting for a message finds it in the store.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from roost.core.keys import SessionKey
from roost.core.principals import Principal

MOST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """`run_id` is the run that the message opens, if it opens one; `principal` sent it under that name."""

    name: str
    principal: Principal
    key: SessionKey
    run_id: str


class Sends:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._named: OrderedDict[str, Send] = OrderedDict()
        self._waiting: dict[SessionKey, dict[str, Send]] = {}
        self._arriving: set[str] = set()

    @contextmanager
    def arriving(self, send: Send) -> Iterator[None]:
        """While the message is taken in: its run may begin before anybody hears of it, and there may never be one."""
        self.expect(send)
        self._arriving.add(send.run_id)
        try:
            yield
        except BaseException:
            self.withdraw(send)
            raise
        finally:
            self._arriving.remove(send.run_id)

    def arrives(self, run_id: str) -> bool:
        """Whether it is not known yet if a message opens this run."""
        return run_id in self._arriving

    def expect(self, send: Send) -> None:
        """A run is to go by the name of a message."""
        self._named[send.run_id] = send
        self._waiting.setdefault(send.key, {})[send.run_id] = send
        if len(self._named) > self._most:
            _, oldest = self._named.popitem(last=False)
            self._settle(oldest)

    def withdraw(self, send: Send) -> None:
        """The message opened no run, or nobody asks for it any more; one that another has inherited keeps its name."""
        if self._named.get(send.run_id) == send:
            del self._named[send.run_id]
            self._settle(send)

    def begun(self, run_id: str) -> None:
        send = self._named.get(run_id)
        if send is not None:
            self._settle(send)

    def name(self, run_id: str) -> str:
        """What clients call a run."""
        send = self.of(run_id)
        return run_id if send is None else send.name

    def of(self, run_id: str) -> Send | None:
        """The message that a run has its name from."""
        return self._named.get(run_id)

    def waiting(self, key: SessionKey) -> tuple[Send, ...]:
        """What was sent to a session and of whose run nothing was heard."""
        return tuple(self._waiting.get(key, {}).values())

    def awaited(self) -> frozenset[SessionKey]:
        """The sessions of all of them."""
        return frozenset(self._waiting)

    def _settle(self, send: Send) -> None:
        waiting = self._waiting.get(send.key, {})
        waiting.pop(send.run_id, None)
        if not waiting:
            self._waiting.pop(send.key, None)
