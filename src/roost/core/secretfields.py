"""Fields that hold a secret by their names, whatever it looks like."""

import re
from collections.abc import Mapping

from roost.core.jsonvalue import JsonValue
from roost.core.redaction import NOTHING, mask

DEPTH = 64

_SECRET_FIELDS = frozenset(
    [
        "authorization",
        "proxyauthorization",
        "cookie",
        "setcookie",
        "token",
        "accesstoken",
        "authtoken",
        "refreshtoken",
        "idtoken",
        "bearertoken",
        "bottoken",
        "apptoken",
        "gatewaytoken",
        "sessiontoken",
        "apitoken",
        "pat",
        "privatekey",
        "accesskey",
    ]
)
_SECRET_ENDINGS = ("password", "passwd", "passphrase", "secret", "apikey", "secretkey", "secretaccesskey")


def is_secret_field(name: str) -> bool:
    """Whether a field of this name holds a secret, whatever it looks like."""
    plain = name.lower().replace("_", "").replace("-", "")
    return plain in _SECRET_FIELDS or plain.endswith(_SECRET_ENDINGS)


_REFERENCE = re.compile(r"\$[A-Za-z_]\w*|\$?\{{1,2}[\w.: -]+\}{1,2}|\$\([^()]*\)|<[^<>]*>|")


def concealed(value: JsonValue, depth: int = DEPTH) -> JsonValue:
    """What is shown of such a field: every text and number in it is masked, but what only refers to a secret stays."""
    if isinstance(value, str):
        return value if _REFERENCE.fullmatch(value) else mask(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) or depth == 0:
        return NOTHING
    if isinstance(value, Mapping):
        return {name: concealed(one, depth - 1) for name, one in value.items()}
    return [concealed(one, depth - 1) for one in value]
