"""`gateway.remotes`: the other gateways to whose sessions agents may send."""

import re
from collections.abc import Iterable
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from roost.config.amounts import SpellingError
from roost.config.secretfields import Credential
from roost.config.section import Loc, Section, about
from roost.config.spelling import Spelling, pattern, read_text
from roost.core.entrance import is_loopback
from roost.core.remotes import NAME

_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


def _address(found: object) -> str:
    text = read_text(found)
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise SpellingError from None
    if parts.scheme not in ("ws", "wss") or not host or parts.username or parts.query or parts.fragment:
        raise SpellingError
    if parts.scheme == "ws" and not is_loopback(host):
        raise SpellingError(
            "beyond this machine it must begin with wss://: the token would be read on the way"
        )
    return text


RemoteName: TypeAlias = Annotated[str, pattern(NAME, "name of `a`-`z`, `0`-`9` and `-`")]
RemoteUrl: TypeAlias = Annotated[str, Spelling(_address, "`wss://` address, or `ws://` on this machine")]
Fingerprint: TypeAlias = Annotated[
    str, pattern(_FINGERPRINT, "`sha256:` and 64 hexadecimal digits", lower=True)
]


class Remote(Section):
    url: Annotated[RemoteUrl, about("Where it listens.")]
    token: Annotated[Credential, about("What lets us in there.")]
    fingerprint: Annotated[
        Fingerprint | None,
        about(
            "Of its certificate, as it says at its start. Unset: one that this system's authorities vouch for."
        ),
    ] = None

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.fingerprint is not None and self.url.startswith("ws:"):
            yield ("fingerprint",), "in the clear there is no certificate: begin the address with wss://"
