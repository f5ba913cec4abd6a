"""A stop as `/stop` decides it, without the words around it."""

from roost.core import stopping
from roost.core.effects import Effects
from roost.core.keys import SessionKey
from roost.core.principals import OWNER
from roost.core.runs import StopRequest
from roost.core.trees import Tree
from roost.ports import Store


async def stop(store: Store, key: SessionKey, at: int, reason: str = "stopped") -> tuple[str, ...]:
    """Stop a session and all below it; the runs under way, which must hear of it."""
    request = StopRequest(reason=reason, by=OWNER, at=at)
    runs: list[str] = []

    def decide(tree: Tree) -> Effects:
        stopped = stopping.stop(tree, request)
        runs[:] = stopped.runs
        return stopped.effects

    await store.change_tree(key, decide)
    return tuple(runs)
