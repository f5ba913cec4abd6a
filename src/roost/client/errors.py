"""What can go wrong between a client and its gateway."""

from roost.core.errors import RoostError
from roost.core.jsonvalue import JsonObject, JsonValue


class Unreachable(RoostError):
    """Nothing of the gateway could be reached; nothing was done."""

    code = "unreachable"
    retryable = True


class Starting(Unreachable):
    """The gateway is there and does not serve yet."""

    code = "starting"


class Untrusted(RoostError):
    """Something answers that is not the gateway that was meant; nothing was said to it."""

    code = "untrusted"


class ConnectionLost(RoostError):
    """The connection ended before the answer came: whether the request was done is not known."""

    code = "connection_lost"
    retryable = True


class Refused(RoostError):
    """The gateway did not do what it was asked. `wire_code` and `details` are what it said of it, and `for_now` that it
    may do it later."""

    code = "refused"

    def __init__(
        self,
        message: str,
        *,
        wire_code: str,
        details: JsonObject,
        payload: JsonValue = None,
        hint: str = "",
        for_now: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.wire_code = wire_code
        self.details = details
        self.payload = payload
        self.for_now = for_now

    @property
    def reason(self) -> str | None:
        """The finer code, where one was given."""
        found = self.details.get("code")
        return found if isinstance(found, str) else None

    @property
    def finest(self) -> str:
        return self.reason or self.code


class TurnFailed(RoostError):
    """A message that was taken and not answered. `text` is what was said until then."""

    code = "turn_failed"

    def __init__(self, message: str, *, text: str = "", stopped: bool = False) -> None:
        super().__init__(message)
        self.text = text
        self.stopped = stopped
