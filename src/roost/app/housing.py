"""What every gateway is for its clients, however they reach it: a house, and who tells them what happens in it."""

from dataclasses import dataclass
from functools import partial

from roost.app.opening import shown_store
from roost.app.places import log_file
from roost.config import Loaded
from roost.engine.gateway import Engine
from roost.server.auth import Authenticator
from roost.server.fanout import Fanout
from roost.server.firings import Firings
from roost.server.handlers.table import table
from roost.server.house import About, House
from roost.server.socket import Door
from roost.server.ticking import announce


@dataclass(frozen=True, slots=True, kw_only=True)
class Housed:
    house: House
    fanout: Fanout

    def door(self, authenticator: Authenticator) -> Door:
        return Door(self.house, self.fanout, authenticator, table(self.fanout))


def housed(
    loaded: Loaded, engine: Engine, *, version: str, auth_mode: str, drain_ms: int | None = None
) -> Housed:
    """Clients are told of everything as soon as the engine serves."""
    about = About(
        version=version,
        boot_id=engine.new_id(),
        started_at=engine.clock.now(),
        store_path=shown_store(loaded),
        auth_mode=auth_mode,
        log=str(log_file(loaded.sources.home)),
        drain_ms=drain_ms,
    )
    house = House(engine, about)
    fanout = Fanout(house)

    engine.accompany("clients", fanout.serve)
    engine.accompany("presence", partial(announce, house))
    engine.accompany("job news", lambda: Firings(house).serve())
    return Housed(house=house, fanout=fanout)
