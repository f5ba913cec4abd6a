"""The handshake: who a client says it is, what it is told when it may come in, and how it is turned away."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from roost.core.grants import Role
from roost.core.jsonvalue import JsonObject
from roost.protocol.frames import ErrorCode, Failure
from roost.protocol.params import Count, Name, Names, Params, Positive

PROTOCOL = 4
OLDEST_PROBE = 3
CHALLENGE = "connect.challenge"
OPERATOR = Role.OPERATOR

POLICY_VIOLATION, PROTOCOL_ERROR, TRY_AGAIN, NORMAL, SERVICE_RESTART = 1008, 1002, 1013, 1000, 1012
RESTARTS = "service restart"
MAX_BEFORE_HELLO = 64 * 1024
MAX_PAYLOAD = 25 * 1024 * 1024
MAX_BUFFERED = 50 * 1024 * 1024
MAX_PICTURE = 6 * 1024 * 1024
"""Models take none that is larger."""
TICK_MS = 30_000
STARTING_RETRY_MS = 500


class Client(Params):
    id: Name
    display_name: Name | None = None
    version: Name
    build_id: Name | None = None
    platform: Name
    device_family: Name | None = None
    model_identifier: Name | None = None
    time_zone: Name | None = None
    mode: Name
    instance_id: Name | None = None


class Device(Params):
    id: Name
    public_key: Name
    signature: Name
    signed_at: Count
    nonce: Name


class Auth(Params):
    token: str | None = None
    bootstrap_token: str | None = None
    device_token: str | None = None
    password: str | None = None
    approval_runtime_token: str | None = None
    agent_runtime_identity_token: str | None = None


class Connect(Params):
    """`caps`, `commands` and `permissions` are what a node says of itself. Of the rest nothing is used, and nothing
    refused."""

    min_protocol: Positive
    max_protocol: Positive
    client: Client
    caps: Names = ()
    role: Name = OPERATOR
    scopes: Names = ()
    device: Device | None = None
    auth: Auth = Auth()
    locale: str | None = None
    user_agent: str | None = None
    model_catalog: object = None
    commands: Names = ()
    computer_use: object = None
    permissions: dict[Name, bool] = Field(default_factory=dict)
    path_env: str | None = None


class WorkerConnect(Connect):
    worker_runs: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """How a client is turned away: the answer to its request, if it gets one, and the end of the connection."""

    close: int
    failure: Failure | None = None
    said: str | None = None

    @property
    def reason(self) -> str:
        """What the closing frame says; it has room for 123 bytes."""
        text = self.said or (self.failure.message if self.failure else "")
        return text.encode()[:123].decode(errors="ignore")


def protocol_refusal(connect: Connect) -> Refusal | None:
    """A client whose range of versions leaves ours out. A probe may be one version behind."""
    if connect.min_protocol <= PROTOCOL <= connect.max_protocol:
        return None
    details: JsonObject = {
        "code": "PROTOCOL_MISMATCH",
        "clientMinProtocol": connect.min_protocol,
        "clientMaxProtocol": connect.max_protocol,
        "expectedProtocol": PROTOCOL,
        "minimumProbeProtocol": OLDEST_PROBE,
    }
    failed = Failure(code=ErrorCode.INVALID_REQUEST, message="protocol mismatch", details=details)
    return Refusal(close=PROTOCOL_ERROR, failure=failed)


def refused(message: str) -> Refusal:
    """For a handshake that is none."""
    return Refusal(close=POLICY_VIOLATION, failure=Failure(code=ErrorCode.INVALID_REQUEST, message=message))


def _without_device(why: str) -> Refusal:
    failed = Failure(
        code=ErrorCode.NOT_PAIRED,
        message=f"device identity required: {why}",
        details={"code": "DEVICE_IDENTITY_REQUIRED"},
    )
    return Refusal(close=POLICY_VIOLATION, failure=failed)


NOT_JSON = Refusal(close=NORMAL)
NOT_CONNECT = refused("invalid handshake: first request must be connect")
STARTING = Refusal(
    close=TRY_AGAIN,
    failure=Failure(
        code=ErrorCode.UNAVAILABLE,
        message="gateway starting; retry shortly",
        details={"reason": "startup-sidecars"},
        retryable=True,
        retry_after_ms=STARTING_RETRY_MS,
    ),
)
NO_CREDENTIAL = _without_device("give the gateway's token")
NODE_WITHOUT_DEVICE = _without_device("a node is a paired device")


def wrong_secret(kind: Literal["token", "password"]) -> Refusal:
    details: JsonObject = {
        "code": f"AUTH_{kind.upper()}_MISMATCH",
        "authReason": f"{kind}_mismatch",
        "canRetryWithDeviceToken": False,
        "recommendedNextStep": "update_auth_credentials",
    }
    message = f"unauthorized: gateway {kind} mismatch"
    return Refusal(
        close=POLICY_VIOLATION,
        failure=Failure(code=ErrorCode.INVALID_REQUEST, message=message, details=details),
    )


def wrong_role(role: str) -> Refusal:
    return refused(f"invalid connect params: at /role: this gateway has no role {role!r}")


def challenge(nonce: str, ts: int) -> JsonObject:
    return {"nonce": nonce, "ts": ts}


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """Who came in: how it proved itself, and what it may do."""

    connection_id: str
    method: str
    scopes: tuple[str, ...]
    role: str = OPERATOR
    device_token: str | None = None
    issued_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What this gateway has for its clients."""

    version: str
    boot_id: str
    methods: tuple[str, ...]
    events: tuple[str, ...]
    capabilities: tuple[str, ...] = ()


def hello(welcome: Welcome, offer: Offer, snapshot: JsonObject) -> JsonObject:
    issued: JsonObject = {}
    if welcome.device_token is not None:
        issued = {"deviceToken": welcome.device_token, "issuedAtMs": welcome.issued_at}
    return {
        "type": "hello-ok",
        "protocol": PROTOCOL,
        "server": {"version": offer.version, "bootId": offer.boot_id, "connId": welcome.connection_id},
        "features": {
            "methods": list(offer.methods),
            "events": list(offer.events),
            "capabilities": list(offer.capabilities),
        },
        "snapshot": snapshot,
        "auth": {"method": welcome.method, "role": welcome.role, "scopes": list(welcome.scopes), **issued},
        "policy": {
            "maxPayload": MAX_PAYLOAD,
            "maxBufferedBytes": MAX_BUFFERED,
            "tickIntervalMs": TICK_MS,
            "attachments": {"maxBytes": MAX_PICTURE, "maxImageBytes": MAX_PICTURE},
        },
    }
