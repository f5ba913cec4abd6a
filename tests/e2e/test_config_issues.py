"""The configuration of a gateway that runs, as clients are shown it while its file is broken."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.e2e.edges import configured, owner
from tests.e2e.test_gateway import Caller, served


async def shown(caller: Caller, *, valid: bool) -> dict[str, Any]:
    """The configuration, once it is told of as this."""
    with anyio.fail_after(60):
        while True:
            found: dict[str, Any] = (await caller.call("config.get"))["payload"]
            if found["valid"] is valid:
                return found


@pytest.mark.requirement("P29")
async def test_a_file_that_is_refused_is_told_of_as_invalid_until_it_is_mended(tmp_path: Path) -> None:
    home = configured(tmp_path, {"port": 4711})
    async with served(home) as gateway, owner(gateway) as caller:
        whole = await shown(caller, valid=True)
        assert whole["issues"] == []
        broken = {"gateway": {"port": "many"}, "session": {"dmScop": "main"}}
        (home / "roost.json").write_text(json.dumps(broken))
        refused = await shown(caller, valid=False)
        assert (refused["config"], refused["hash"]) == (whole["config"], whole["hash"])
        issues = {one["path"]: one["message"] for one in refused["issues"]}
        assert issues.keys() == {"gateway.port", "session.dmScop"}
        assert "did you mean `dmScope`?" in issues["session.dmScop"]
        (home / "roost.json").write_text("{")
        with anyio.fail_after(60):
            while [one["path"] for one in refused["issues"]] == list(issues):
                refused = await shown(caller, valid=False)
        assert len(refused["issues"]) == 1
        configured(home, {"port": 4711})
        assert (await shown(caller, valid=True))["issues"] == []
