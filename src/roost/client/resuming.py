"""What is done again on a new connection: requests that may be repeated, and subscriptions. Pure."""

from roost.core.jsonvalue import JsonObject, JsonValue
from roost.protocol.families.agents import WAIT
from roost.protocol.families.nodes import INVOKE
from roost.protocol.families.sessions import LISTEN, SUBSCRIBE, UNLISTEN
from roost.protocol.scopes import Scope

IDEMPOTENCY = "idempotencyKey"


def repeatable(method: str, params: JsonObject) -> bool:
    """Whether asking twice does what asking once does: it only reads, it waits, or it carries a key of its own. What a node
    was asked a gateway knows only as long as it runs, and another may answer next."""
    if method == INVOKE.name:
        return False
    if params.get(IDEMPOTENCY) is not None or method == WAIT.name:
        return True
    from roost.protocol.methods import METHODS  # noqa: PLC0415 — few connections are lost, and the table is large

    known = METHODS.get(method)
    return known is not None and (known.needs is None or known.needs is Scope.READ)


class Subscriptions:
    """What this client asked to hear of. A session goes by many names; it is the one that the answer names."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], JsonObject] = {}

    def note(self, method: str, params: JsonObject, answer: JsonValue) -> None:
        """A request that was answered."""
        if method not in (SUBSCRIBE.name, LISTEN.name, UNLISTEN.name):
            return
        about = str(answer.get("key", "")) if isinstance(answer, dict) else ""
        if method != UNLISTEN.name:
            self._asked[method, about] = params
        else:
            self._asked.pop((LISTEN.name, about), None)

    def requests(self) -> tuple[tuple[str, JsonObject], ...]:
        return tuple((method, params) for (method, _), params in self._asked.items())
