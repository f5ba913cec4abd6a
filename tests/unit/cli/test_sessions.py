from pathlib import Path

import pytest

import roost
from roost.cli.sessions import every


@pytest.mark.requirement("D48")
async def test_every_session_is_found_a_page_after_another(tmp_path: Path) -> None:
    async with roost.open({"ROOST_HOME": str(tmp_path)}) as client:
        keys = [f"agent:main:plan-{number}" for number in range(5)]
        for key in keys:
            await client.call("sessions.create", {"key": key})
        found = await every(client, {}, page=2)
        assert {row["key"] for row in found["sessions"]} == set(keys)
        assert (found["count"], found["totalCount"], found["hasMore"]) == (5, 5, False)
