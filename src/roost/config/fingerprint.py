"""A short name for a configuration, to see whether two gateways run the same one."""

from hashlib import sha256

import orjson

from roost.config.settings import Settings, as_document


def config_hash(settings: Settings) -> str:
    """Equal for equal settings on every machine. A credential counts as given or not; its text has no part in it."""
    return sha256(orjson.dumps(as_document(settings), option=orjson.OPT_SORT_KEYS)).hexdigest()
