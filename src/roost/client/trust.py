"""Which gateways a client shows a credential to: those of this machine, and those behind a certificate it trusts."""

import hashlib
import hmac
import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from roost.client.errors import Untrusted
from roost.core.entrance import is_loopback
from roost.core.errors import InvalidInput

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
PREFIX = "sha256:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """By default: clear text within this machine, and beyond it certificates that this system's authorities vouch for.

    `fingerprint` is that of the one certificate to accept, whoever signed it. `clear_text` lets everyone on the way
    read credentials and conversations.
    """

    fingerprint: str | None = None
    clear_text: bool = False

    def context(self, url: str) -> ssl.SSLContext | None:
        """How to speak to an address; None is in the clear. Raises where that is not allowed."""
        try:
            parts = urlsplit(url)
            host, nowhere = parts.hostname or "", parts.port == 0
        except ValueError:
            host, nowhere = "", True
        if nowhere:
            raise InvalidInput(f"{url} is no WebSocket address", hint="write ws://HOST:PORT")
        if parts.scheme == "wss":
            return self._tls()
        if self.fingerprint is not None:
            raise InvalidInput(
                f"{url} is in the clear: there is no certificate to compare with the fingerprint",
                hint="use wss://, or leave --tls-fingerprint out",
            )
        if not self.clear_text and host and not is_loopback(host):
            raise InvalidInput(
                f"{url} is beyond this machine and in the clear: whoever is on the way reads the token and every word",
                hint="use wss://, or a tunnel to this machine; --dangerously-allow-clear-text does without",
            )
        return None

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self.fingerprint is not None:
            # The one certificate is known: neither its name nor its signer adds anything.
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def accept(self, url: str, certificate: bytes | None) -> None:
        """Raise unless the other end is the one that was meant; nothing has been said to it yet."""
        if self.fingerprint is None or certificate is None:
            return
        found = _digest(certificate)
        if not hmac.compare_digest(found, read_fingerprint(self.fingerprint)):
            raise Untrusted(
                f"the certificate of {url} is not the one that was expected: it is {PREFIX}{found}",
                hint="compare it with what the gateway says when it starts",
            )


def read_fingerprint(text: str) -> str:
    """A SHA-256 in any of its usual spellings."""
    found = text.strip().lower().removeprefix(PREFIX).removeprefix("sha256 fingerprint=").replace(":", "")
    if not _DIGEST.fullmatch(found):
        raise InvalidInput(
            f"{text!r} is no SHA-256 fingerprint", hint="write sha256: and 64 hexadecimal digits"
        )
    return found


def fingerprint_of(file: Path) -> str:
    """Of the certificate in a PEM file: of several, the first is the gateway's own."""
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    try:
        text = file.read_text(encoding="ascii")
        first = text[text.index(begin) : text.index(end) + len(end)]
        return f"{PREFIX}{_digest(ssl.PEM_cert_to_DER_cert(first))}"
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} holds no certificate: {error}", hint="see `gateway.tls.cert`") from error


def _digest(certificate: bytes) -> str:
    return hashlib.sha256(certificate).hexdigest()
