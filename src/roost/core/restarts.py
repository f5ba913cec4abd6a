"""When what broke begins again: a part of the gateway, or a client's connection to it."""

JITTER = 0.2
RESTART_MS = 250
SLOWEST_RESTART_MS = 30_000


def restart_ms(failures: int, jitter: float) -> int:
    """How long a part that failed so often in a row waits until it begins again: doubling, up to a fifth longer."""
    wait = min(RESTART_MS << min(max(failures, 1) - 1, 20), SLOWEST_RESTART_MS)
    return wait + int(wait * JITTER * jitter)
