"""Where and how a provider is reached over HTTP, whatever is spoken there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import httpx2

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject
from roost.core.models import FailureKind, ModelFailed
from roost.core.secrets import Secret
from roost.egress import owners_client

CONNECT_MS = 10_000
IDLE_MS = 120_000
# Every request looks at each of them.
KEPT_CONNECTIONS = 8
OPENAI_URL = "https://api.openai.com/v1"
_LAST_PORT = 65_535
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")


class KeyAs(StrEnum):
    """How a key is shown: in the header that the wire format has for it, or as a bearer token."""

    NATIVE = "native"
    BEARER = "bearer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """`params` are sent with every request; `idle_ms` bounds every wait for the next bytes."""

    provider: str
    base_url: str
    key: Secret | None = None
    key_as: KeyAs = KeyAs.NATIVE
    headers: Mapping[str, Secret] = field(default_factory=dict)
    params: JsonObject = field(default_factory=dict)
    connect_ms: int = CONNECT_MS
    idle_ms: int = IDLE_MS

    @property
    def secrets(self) -> tuple[Secret, ...]:
        return tuple(filter(None, (self.key, *self.headers.values())))

    def sent_headers(self, key_header: str) -> dict[str, str]:
        """The configured headers and the key's, in lower case; `key_header` is the wire format's own."""
        headers = {name.lower(): value.reveal().strip() for name, value in self.headers.items()}
        if self.key:
            bearer = self.key_as is KeyAs.BEARER or key_header == "authorization"
            text = self.key.reveal().strip()
            headers.setdefault(
                "authorization" if bearer else key_header, f"Bearer {text}" if bearer else text
            )
        if not all(map(_TOKEN.fullmatch, headers)):
            raise ModelFailed(
                f"a header of {self.provider} has a name that cannot be sent",
                kind=FailureKind.PERMANENT,
                hint="check the provider's headers",
            )
        if not all(text.isascii() and text.isprintable() for text in headers.values()):
            raise ModelFailed(
                f"the key or a header of {self.provider} holds a character that cannot be sent",
                kind=FailureKind.AUTH,
                hint="check how it was pasted",
            )
        return headers

    def address(self, path: str = "") -> httpx2.URL:
        """A path below the base address, which must be a web address."""
        try:
            url = httpx2.URL(f"{self.base_url.rstrip('/')}{path}")
            url.host.encode("idna")
        except (httpx2.InvalidURL, UnicodeError):
            url = httpx2.URL()
        if url.scheme not in ("http", "https") or not url.host or (url.port or 0) > _LAST_PORT:
            raise InvalidInput(
                f"the baseUrl of {self.provider} is no web address", hint="write https://host/v1"
            )
        return url

    def client(self) -> httpx2.AsyncClient:
        """A client of its own, which its maker closes."""
        timeout = httpx2.Timeout(self.idle_ms / 1000, connect=self.connect_ms / 1000)
        return owners_client(self.address(), timeout=timeout, kept=KEPT_CONNECTIONS)
