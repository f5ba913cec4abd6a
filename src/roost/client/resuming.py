"""What is done again on a new connection: requests that may be repeated, and subscriptions. Pure."""

from roost.core.jsonvalue import JsonObject
from roost.protocol.families.agents import WAIT
from roost.protocol.families.sessions import LISTEN, SUBSCRIBE, UNLISTEN
from roost.protocol.scopes import Scope

IDEMPOTENCY = "idempotencyKey"


def repeatable(method: str, params: JsonObject) -> bool:
    """Whether asking twice does what asking once does: it only reads, it waits, or it carries a key of its own."""
    if IDEMPOTENCY in params or method == WAIT.name:
        return True
    from roost.protocol.methods import METHODS  # noqa: PLC0415 — few connections are lost, and the table is large

    known = METHODS.get(method)
    return known is not None and (known.needs is None or known.needs is Scope.READ)


class Subscriptions:
    """What this client asked to hear of."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], JsonObject] = {}

    def note(self, method: str, params: JsonObject) -> None:
        """A request that was answered."""
        about = str(params.get("key", ""))
        if method in (SUBSCRIBE.name, LISTEN.name):
            self._asked[method, about] = params
        elif method == UNLISTEN.name:
            self._asked.pop((LISTEN.name, about), None)

    def requests(self) -> tuple[tuple[str, JsonObject], ...]:
        return tuple((method, params) for (method, _), params in self._asked.items())
