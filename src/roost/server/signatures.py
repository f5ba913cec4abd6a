"""Whether a device has the key it names. The library is loaded when the first device comes."""

import base64
import binascii
from hashlib import sha256

from roost.protocol.handshake import Connect, Device
from roost.protocol.proofs import SKEW_MS, signed_texts
from roost.protocol.turnedaway import Flaw

KEY_BYTES, SIGNATURE_BYTES = 32, 64


def flaw(connect: Connect, device: Device, nonce: str, now: int) -> Flaw | None:
    """What is wrong with a device's proof for this challenge; None where it is good."""
    key = _bytes(device.public_key, KEY_BYTES)
    if key is None:
        return Flaw.KEY
    if device.id != sha256(key).hexdigest():
        return Flaw.ID
    if not nonce or device.nonce != nonce:
        return Flaw.NONCE
    if abs(now - device.signed_at) > SKEW_MS:
        return Flaw.TIME
    signature = _bytes(device.signature, SIGNATURE_BYTES)
    if signature is None or not any(_signed(key, signature, text) for text in signed_texts(connect, device)):
        return Flaw.SIGNATURE
    return None


def _signed(key: bytes, signature: bytes, text: str) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 — most gateways meet no device
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 — the same

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text.encode("utf-8", "surrogatepass"))
    except (InvalidSignature, ValueError):
        return False
    return True


def _bytes(text: str, length: int) -> bytes | None:
    """Base64 in the alphabet of URLs, with or without padding."""
    try:
        found = base64.b64decode(
            text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), altchars=b"-_", validate=True
        )
    except (binascii.Error, ValueError):
        return None
    return found if len(found) == length else None
