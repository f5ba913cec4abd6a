"""Roost: a session gateway for AI agents."""

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roost.app.embedding import open_embedded as open  # noqa: A004 — read as `roost.open`
    from roost.app.replaying import replay
    from roost.client import Client

__version__ = "0.1.0.dev0"
__all__ = ["Client", "__version__", "open", "replay"]


def __getattr__(name: str) -> Any:
    """`Client`, `open` and `replay` are loaded when they are first asked for: most who import this only want to know that it is
    there."""
    match name:
        case "Client":
            from roost.client import Client  # noqa: PLC0415 — see above

            return Client
        case "open":
            from roost.app.embedding import open_embedded  # noqa: PLC0415 — see above

            return functools.partial(open_embedded, version=__version__)
        case "replay":
            from roost.app.replaying import replay  # noqa: PLC0415 — see above

            return replay
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
