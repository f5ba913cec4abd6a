"""A short name for a configuration, to see whether two gateways run the same one."""

from hashlib import sha256

import orjson

from roost.config.gateway import Gateway
from roost.config.settings import Settings, as_document

# Where a gateway listens, and how long it takes to leave, is its own.
_OWN = ("port", "bind", "tls", "drain_ms")


def config_hash(settings: Settings) -> str:
    """Equal for equal settings on every machine. A credential counts as given or not; its text has no part in it."""
    return sha256(orjson.dumps(as_document(settings), option=orjson.OPT_SORT_KEYS)).hexdigest()


def shared_hash(settings: Settings) -> str:
    """The same for what all gateways of a store should have in common."""
    usual = Gateway()
    gateway = settings.gateway.model_copy(update={name: getattr(usual, name) for name in _OWN})
    return config_hash(settings.model_copy(update={"gateway": gateway}))
