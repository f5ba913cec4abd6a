"""What a device signs to prove its key: the texts, in the form of today and the one before."""

import string
from typing import Final

from roost.protocol.handshake import Connect, Device

SKEW_MS: Final = 120_000
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def signed_texts(connect: Connect, device: Device) -> tuple[str, str]:
    """The newer form first; it covers the platform as well."""
    auth, client = connect.auth, connect.client
    common = "|".join(
        (
            device.id,
            client.id,
            client.mode,
            connect.role,
            ",".join(connect.scopes),
            str(device.signed_at),
            auth.token or auth.device_token or auth.bootstrap_token or "",
            device.nonce,
        )
    )
    return f"v3|{common}|{_plain(client.platform)}|{_plain(client.device_family)}", f"v2|{common}"


def _plain(text: str | None) -> str:
    return (text or "").strip().translate(_LOWER)
