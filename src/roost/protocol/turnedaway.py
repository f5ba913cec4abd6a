"""Why a client is not let in, beyond a wrong secret: its page, its device, or too many attempts."""

from enum import StrEnum

from roost.core.devices import PairingRequest
from roost.core.jsonvalue import JsonObject
from roost.protocol.frames import ErrorCode, Failure
from roost.protocol.handshake import POLICY_VIOLATION, TRY_AGAIN, Refusal

BUSY_RETRY_MS, UNSEEN_RETRY_MS = 5_000, 1_000
RATE_LIMITED = "AUTH_RATE_LIMITED"


class Flaw(StrEnum):
    """What is wrong with the proof of a device."""

    ID = "DEVICE_AUTH_DEVICE_ID_MISMATCH"
    KEY = "DEVICE_AUTH_PUBLIC_KEY_INVALID"
    NONCE = "DEVICE_AUTH_NONCE_MISMATCH"
    TIME = "DEVICE_AUTH_SIGNATURE_EXPIRED"
    SIGNATURE = "DEVICE_AUTH_SIGNATURE_INVALID"


def _refusal(
    code: ErrorCode, message: str, details: JsonObject, retry_after_ms: int | None = None
) -> Refusal:
    failure = Failure(
        code=code,
        message=message,
        details=details,
        retryable=None if retry_after_ms is None else True,
        retry_after_ms=retry_after_ms,
    )
    return Refusal(close=POLICY_VIOLATION, failure=failure)


FOREIGN_PAGE = _refusal(
    ErrorCode.INVALID_REQUEST,
    "origin not allowed: list it in `gateway.controlUi.allowedOrigins`",
    {"code": "CONTROL_UI_ORIGIN_NOT_ALLOWED"},
)
WRONG_DEVICE_TOKEN = _refusal(
    ErrorCode.INVALID_REQUEST,
    "unauthorized: device token mismatch",
    {"code": "AUTH_DEVICE_TOKEN_MISMATCH", "authReason": "device_token_mismatch"},
)
WRONG_CODE = _refusal(
    ErrorCode.INVALID_REQUEST,
    "unauthorized: this code is of no request of this device",
    {"code": "AUTH_BOOTSTRAP_TOKEN_INVALID", "authReason": "bootstrap_token_invalid"},
)
CROWDED = Refusal(
    close=TRY_AGAIN,
    failure=Failure(
        code=ErrorCode.UNAVAILABLE,
        message="too many devices ask to be paired; retry later",
        retryable=True,
        retry_after_ms=BUSY_RETRY_MS,
    ),
)
UNSEEN = Refusal(
    close=TRY_AGAIN,
    failure=Failure(
        code=ErrorCode.UNAVAILABLE,
        message="too many credentials wait to be looked at; retry shortly",
        details={"code": "AUTH_CROWDED", "authReason": "crowded"},
        retryable=True,
        retry_after_ms=UNSEEN_RETRY_MS,
    ),
)
"""For who may be right: clients that are told of wrong attempts do not come again."""


def unproven(flaw: Flaw) -> Refusal:
    return _refusal(
        ErrorCode.INVALID_REQUEST,
        f"device identity is not proven: {flaw.name.lower()}",
        {"code": str(flaw), "reason": f"device-{flaw.name.lower()}"},
    )


def throttled(retry_after_ms: int) -> Refusal:
    return _refusal(
        ErrorCode.INVALID_REQUEST,
        "unauthorized: too many failed authentication attempts (retry later)",
        {"code": RATE_LIMITED, "authReason": "rate_limited"},
        retry_after_ms,
    )


def to_be_paired(request: PairingRequest) -> Refusal:
    """Nothing of the code: it is shown on the owner's side."""
    details: JsonObject = {
        "code": "PAIRING_REQUIRED",
        "reason": "not-paired",
        "requestId": request.id,
        "remediationHint": "Approve this device on the gateway, or give the code that is shown there.",
        "recommendedNextStep": "wait_then_retry",
        "retryable": True,
        "pauseReconnect": False,
        "deviceId": request.identity.id,
        "requestedRole": request.role,
        "requestedScopes": [str(scope) for scope in request.scopes],
    }
    message = "pairing required: device is not approved yet"
    failure = Failure(code=ErrorCode.NOT_PAIRED, message=message, details=details)
    return Refusal(close=POLICY_VIOLATION, failure=failure, said=f"{message} (requestId: {request.id})")
