"""What a decision would see of a session."""

from roost.core.effects import Effects
from roost.core.keys import SessionKey
from roost.core.snapshots import Snapshot
from roost.ports import Store
from roost.testing.builders import MAIN


async def snapshot(store: Store, key: SessionKey = MAIN) -> Snapshot:
    seen: list[Snapshot] = []

    def look(shown: Snapshot) -> Effects:
        seen.append(shown)
        return ()

    await store.change_session(key, look)
    return seen[-1]
