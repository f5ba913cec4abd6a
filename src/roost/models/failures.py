"""What an HTTP answer or an error object of a provider means for the call.

Texts of the provider are shortened, and anything in `secrets` is masked; of a refused key nothing is quoted.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import orjson

from roost.core.jsonvalue import JsonValue, as_object
from roost.core.models import FailureKind, ModelFailed, NeverSent
from roost.core.secrets import MASK, Secret
from roost.models.arguments import mended

QUOTED_CHARS = 300
FILTERED = "the provider's content filter ended the answer"
LONGEST_WAIT_MS = 24 * 60 * 60 * 1000

_OVERFLOW = re.compile(
    r"context.?(?:length|window|size|limit)|maximum context|too many (?:input )?tokens|token limit"
    r"|(?:prompt|input|request|message)s? (?:is|are|was)? ?too (?:long|large)|exceeds? the (?:available|maximum|model)"
    r"|reduce the length|string_above_max_length",
    re.IGNORECASE,
)
_OUT_OF_CREDIT = re.compile(r"insufficient_quota|insufficient.(?:balance|credit|funds)", re.IGNORECASE)
_KEY = re.compile(r"invalid_api_key|authentication_error|permission_error|unauthori[sz]ed", re.IGNORECASE)
_RATE = re.compile(r"rate.?limit|too many requests|throttl", re.IGNORECASE)
_LASTING = re.compile(r"invalid_request|not_found|unsupported|model_not_found", re.IGNORECASE)
_OVERFLOW_STATUSES = (400, 413, 422, 500)

_HINTS: Mapping[FailureKind, str] = {
    FailureKind.AUTH: "check the provider's apiKey",
    FailureKind.RATE_LIMIT: "wait, or use another model",
    FailureKind.OVERFLOW: "compact the conversation, or use a model with a larger window",
    FailureKind.TRANSIENT: "try again",
    FailureKind.PERMANENT: "check the provider's baseUrl and the name of the model",
}


def refusal(
    provider: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: int,
    secrets: Iterable[Secret],
    known: FailureKind | None = None,
) -> ModelFailed:
    """The failure that an HTTP status other than success stands for, unless it is `known`."""
    said = as_object(_parsed(body))
    error = said.get("error", said)
    text = _text(error) or ("" if said else body[: 4 * QUOTED_CHARS].decode("utf-8", "replace"))
    kind = known or _kind_of_status(status, f"{_code(error)} {text}")
    shown = "" if kind is FailureKind.AUTH else _quoted(text, secrets)
    return ModelFailed(
        f"{provider} answered {status} {_phrase(status)}{f': {shown}' if shown else ''}".strip(),
        kind=kind,
        hint=_HINTS[kind],
        retry_after_ms=_retry_after(headers, now),
    )


def broken_off(provider: str, error: JsonValue, secrets: Iterable[Secret]) -> ModelFailed:
    """The failure that an error object in the middle of an answer stands for."""
    code, text, status = _code(error), _text(error), _status(error)
    said = f"{code} {text}"
    kind = _kind_of_status(status, said) if status else _kind_of_text(said)
    shown = "" if kind is FailureKind.AUTH else _quoted(text or code, secrets)
    return ModelFailed(
        f"{provider} broke off its answer{f': {shown}' if shown else ''}", kind=kind, hint=_HINTS[kind]
    )


def unreachable(provider: str, reason: str) -> ModelFailed:
    """No connection was made. A certificate that is refused now is refused again."""
    refused = "CERTIFICATE_VERIFY_FAILED" in reason
    return NeverSent(
        f"{provider} could not be reached: {_quoted(reason, ())}",
        kind=FailureKind.PERMANENT if refused else FailureKind.TRANSIENT,
        hint="check the provider's baseUrl and its certificate"
        if refused
        else "check the provider's baseUrl",
    )


def transient(message: str) -> ModelFailed:
    return ModelFailed(message, kind=FailureKind.TRANSIENT, hint=_HINTS[FailureKind.TRANSIENT])


def _kind_of_status(status: int, text: str) -> FailureKind:
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return FailureKind.OVERFLOW
    if status in _OVERFLOW_STATUSES and _OVERFLOW.search(text):
        return FailureKind.OVERFLOW
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return FailureKind.AUTH
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        # Waiting does not fill an account.
        return FailureKind.PERMANENT if _OUT_OF_CREDIT.search(text) else FailureKind.RATE_LIMIT
    if status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY) or status >= 500:
        return FailureKind.TRANSIENT
    return FailureKind.PERMANENT


def _kind_of_text(text: str) -> FailureKind:
    for pattern, kind in (
        (_OVERFLOW, FailureKind.OVERFLOW),
        (_OUT_OF_CREDIT, FailureKind.PERMANENT),
        (_KEY, FailureKind.AUTH),
        (_RATE, FailureKind.RATE_LIMIT),
        (_LASTING, FailureKind.PERMANENT),
    ):
        if pattern.search(text):
            return kind
    return FailureKind.TRANSIENT


def _parsed(body: bytes) -> JsonValue:
    try:
        value: JsonValue = orjson.loads(body)
    except ValueError:
        return None
    # Some servers answer with a list of one.
    return value[0] if isinstance(value, list) and value else value


def _text(error: JsonValue) -> str:
    found = (
        error if isinstance(error, str) else as_object(error).get("message", as_object(error).get("detail"))
    )
    return mended(found) if isinstance(found, str) else ""


def _code(error: JsonValue) -> str:
    fields = as_object(error)
    found = (fields.get("code"), fields.get("type"))
    return " ".join(str(part) for part in found if isinstance(part, str | int))


def _status(error: JsonValue) -> int | None:
    code = str(as_object(error).get("code"))
    return int(code) if re.fullmatch(r"[45]\d\d", code, re.ASCII) else None


def _quoted(text: str, secrets: Iterable[Secret]) -> str:
    for secret in secrets:
        text = text.replace(secret.reveal().strip(), MASK)
    line = " ".join(text.split())
    return line if len(line) <= QUOTED_CHARS else f"{line[:QUOTED_CHARS]}…"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _retry_after(headers: Mapping[str, str], now: int) -> int | None:
    """From `retry-after-ms`, or `retry-after` in seconds or as a date."""
    wait = _number(headers.get("retry-after-ms", ""))
    seconds = _number(headers.get("retry-after", ""))
    if wait is None:
        wait = seconds * 1000 if seconds is not None else _until(headers.get("retry-after", ""), now)
    return None if wait is None else round(min(max(wait, 0), LONGEST_WAIT_MS))


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d{1,12}(?:\.\d{1,9})?\s*", text, re.ASCII) else None


def _until(text: str, now: int) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.timestamp() * 1000 - now
