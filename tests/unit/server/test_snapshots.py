"""How things stand, as a client is told."""

from pathlib import Path

from roost.server.snapshots import MOST_SHOWN, presence
from tests.flows.served import gates
from tests.unit.server.test_clients import connected


async def test_of_very_many_clients_those_are_shown_that_came_last(tmp_path: Path) -> None:
    async with gates("memory", tmp_path) as gate:
        every = [connected(f"c-{number}") for number in range(MOST_SHOWN + 5)]
        for number, client in enumerate(every):
            client.since = number
            gate.house.clients.add(client)
        own, *others = presence(gate.house, every[0].caller)
        assert isinstance(own, dict)
        assert own["mode"] == "gateway"
        since = [one["onlineSince"] for one in others if isinstance(one, dict)]
        assert since == list(range(5, MOST_SHOWN + 5))
