"""How a client comes in: who it says it is, and what it was told."""

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from roost.ancestry import is_of_agent
from roost.client import frames
from roost.client.errors import Refused, Starting, Unreachable
from roost.client.events import Event
from roost.client.frames import Response
from roost.client.wires import Wire
from roost.core.jsonvalue import JsonObject, JsonValue, as_object, as_text
from roost.core.secrets import Secret
from roost.protocol.frames import ErrorCode
from roost.protocol.handshake import CHALLENGE, PROTOCOL
from roost.protocol.scopes import Scope

CONNECT_ID = "connect"
OWNER_SCOPES = (Scope.READ, Scope.WRITE, Scope.ADMIN, Scope.APPROVALS, Scope.QUESTIONS, Scope.PAIRING)
IN_SHELL = (Scope.READ,)
TOOL_EVENTS = "tool-events"
_TOKEN = "token with `--token` or `ROOST_GATEWAY_TOKEN`"  # noqa: S105 — how one is given
_PASSWORD = "password with `--password` or `ROOST_GATEWAY_PASSWORD`"  # noqa: S105 — how one is given


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """What a client says of itself. Scopes it does not ask for it does not get; in an agent's shell it asks for none but
    to read."""

    id: str = "cli"
    version: str = "0"
    mode: str = "cli"
    token: Secret | None = None
    password: Secret | None = None
    scopes: tuple[str, ...] = OWNER_SCOPES
    caps: tuple[str, ...] = (TOOL_EVENTS,)

    def params(self) -> JsonObject:
        shown = {"token": self.token, "password": self.password}
        auth: dict[str, JsonValue] = {
            name: secret.reveal() for name, secret in shown.items() if secret is not None
        }
        return {
            "minProtocol": PROTOCOL,
            "maxProtocol": PROTOCOL,
            "client": {
                "id": self.id,
                "version": self.version,
                "platform": platform.system().lower() or sys.platform,
                "mode": self.mode,
            },
            "caps": list(self.caps),
            "scopes": [str(scope) for scope in (IN_SHELL if is_of_agent() else self.scopes)],
            "auth": auth,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """What a gateway says to whom it lets in."""

    version: str
    boot_id: str
    methods: frozenset[str]
    scopes: tuple[str, ...]
    main_key: str
    said: JsonObject = field(repr=False)

    @classmethod
    def read(cls, said: JsonObject) -> "Hello":
        server = as_object(said.get("server"))
        defaults = as_object(as_object(said.get("snapshot")).get("sessionDefaults"))
        return cls(
            version=as_text(server.get("version")),
            boot_id=as_text(server.get("bootId")),
            methods=frozenset(_texts(as_object(said.get("features")).get("methods"))),
            scopes=tuple(_texts(as_object(said.get("auth")).get("scopes"))),
            main_key=as_text(defaults.get("mainSessionKey")) or "main",
            said=said,
        )


async def shake_hands(wire: Wire, who: Introduction, heard: Callable[[Event], None]) -> Hello:
    """Come in, or raise `Refused`. What is told before the answer goes to `heard`."""
    await _until(wire, CHALLENGE, heard)
    await wire.send(frames.request(CONNECT_ID, "connect", who.params()))
    answer = await _until(wire, CONNECT_ID, heard)
    assert isinstance(answer, Response)
    if answer.refusal is not None:
        raise _refused(answer.refusal)
    return Hello.read(as_object(answer.payload))


async def _until(wire: Wire, wanted: str, heard: Callable[[Event], None]) -> Response | Event:
    while (text := await wire.receive()) is not None:
        match frames.read(text):
            case Event(name=name) as event:
                if name == wanted:
                    return event
                heard(event)
            case Response() as response if response.id == wanted:
                return response
            case _:
                continue
    raise Unreachable("the gateway closed the connection before it said hello")


def _refused(refusal: Refused) -> Exception:
    """A gateway that is about to serve is tried again; one that does not know us is not."""
    if refusal.wire_code == ErrorCode.UNAVAILABLE:
        return Starting(str(refusal))
    match refusal.reason:
        case "AUTH_PASSWORD_MISMATCH":
            refusal.hint = f"give the gateway's {_PASSWORD}"
        case "AUTH_TOKEN_MISMATCH":
            refusal.hint = f"give the gateway's {_TOKEN}"
        case _:
            refusal.hint = f"give the gateway's {_PASSWORD}, or its {_TOKEN}"
    return refusal


def _texts(value: JsonValue) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
