"""The security audit of a configuration and of what runs by it."""

from roost.app.auditing import audited
from roost.app.finding import serving_and_guests
from roost.config import Loaded
from roost.core.errors import RoostError
from roost.core.findings import Finding, Severity, in_order


async def inspected(loaded: Loaded) -> tuple[Finding, ...]:
    """All that is found, also of where the gateways of this store listen now, and of who was let in by pairing."""
    try:
        listening, guests = await serving_and_guests(loaded)
    except RoostError as error:
        return in_order((*audited(loaded), _not_seen(error)))
    return audited(loaded, guests.let_in, listening)


def _not_seen(error: RoostError) -> Finding:
    return Finding(
        id="gateway.not_seen",
        severity=Severity.INFO,
        text=f"Where a gateway may listen that runs, and who was let in by pairing, is not to be seen: {error.message}.",
        setting="database",
        fix="run `roost doctor`",
    )
