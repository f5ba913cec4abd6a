import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from roost.app.serving import Served
from roost.cli.main import main
from roost.cli.sessions import every
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.protocol.families.sessions import Listed
from roost.testing import builders
from tests.contract.scenes import opened
from tests.flows.served import gates
from tests.unit.cli.conftest import Told, as_json

KEYS = [f"agent:main:plan-{number}" for number in range(5)]


@pytest.mark.requirement("D48")
@pytest.mark.parametrize("page", [1, 2, 4, 5, 6])
@pytest.mark.parametrize("used", [[], KEYS[:1], KEYS[2:3], KEYS[4:], KEYS[:3]])
async def test_every_session_is_found_once_although_some_are_used_meanwhile(
    tmp_path: Path, page: int, used: list[str]
) -> None:
    to_use = list(used)
    async with gates("memory", tmp_path) as gate, gate.client() as client:
        for at, key in enumerate(KEYS):
            await opened(gate.bench.store, row=builders.session(SessionKey.parse(key), at=at // 2))

        async def ask(params: Mapping[str, JsonValue]) -> Listed:
            found: Listed = await client.call("sessions.list", dict(params))
            if to_use:
                key, at = to_use.pop(), 100 - len(to_use)
                await gate.bench.store.append(SessionKey.parse(key), (builders.said(key, "used", at=at),))
            return found

        found = await every(ask, {}, page)
    assert sorted(str(row["key"]) for row in found["sessions"]) == KEYS
    assert (found["count"], found["totalCount"]) == (5, 5)
    assert (found["hasMore"], found["nextOffset"], found["nextCursor"]) == (False, None, None)
    moments = [int(str(row["updatedAt"])) for row in found["sessions"]]
    assert moments == sorted(moments, reverse=True)


@pytest.mark.requirement("D48")
def test_all_sessions_of_all_agents_are_listed_for_people_too(
    told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        told("agent", "-m", "hello", "--session", name)
    assert told("sessions", "--limit", "1").splitlines()[-1] == "… and more: --limit 2, or all"
    for some in (["--limit", "all"], ["--limit", "all", "--all-agents"], []):
        assert len(told("sessions", "list", *some).splitlines()) == 4
    found = json.loads(told("sessions", "list", "--limit", "2", "--active", "5", "--json"))
    assert (found["count"], found["activeMinutes"]) == (2, 5)
    for wrong, said in (
        (["--limit", "0"], "/limit"),
        (["--all-agents", "--agent", "main"], "leave --agent or --all-agents out"),
    ):
        assert main(["sessions", "list", *wrong]) == 1
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("more", [(), ("--json",), ("--limit", "1"), ("--archived",), ("--search", "zebra")])
def test_sessions_of_an_agent_that_is_not_there_are_not_listed(
    served: Served, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    assert main(["sessions", "list", "--agent", "nope", *more]) == 1
    words = capsys.readouterr().err
    assert "unknown agent id 'nope'" in words
    assert "there are: main." in words


def test_sessions_of_an_agent_that_is_there_or_left_some_are_listed(home: Path, told: Told) -> None:
    (home / "roost.json").write_text('{ agents: { list: [{ id: "main" }, { id: "ops" }] } }')
    assert told("sessions", "--agent", "ops") == "no session fits\n"
    told("agent", "-m", "what is a session?", "--session", "agent:ops:plan")
    (home / "roost.json").write_text("{}")
    assert as_json(told, "sessions", "--agent", "ops")["count"] == 1
    assert told("sessions", "--agent", "ops", "--archived") == "no session fits\n"
    assert told("sessions", "--agent", "ops", "--search", "zebra") == "no session fits\n"
    told("sessions", "archive", "agent:ops:plan")
    assert told("sessions", "--agent", "ops") == "no session fits\n"
