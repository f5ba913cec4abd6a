import json
from datetime import UTC
from pathlib import Path

import pytest

from roost.app.casting import Director
from roost.app.providers import open_models
from roost.clock import SystemClock
from roost.config import load
from roost.core.errors import Forbidden, NotFound
from roost.core.keys import KeyKind, SessionKey
from roost.core.rights import Rights, of_child
from roost.core.runs import Request, RunKind
from roost.core.sessions import Lineage, Session
from roost.core.terms import Terms
from roost.core.tools import ProgramLimits, WorkspaceAccess
from roost.core.visibility import Level
from roost.engine.rules import Part
from roost.testing import builders
from roost.testing.builders import MAIN

CHILD = SessionKey(agent="main", kind=KeyKind.SUBAGENT, name="c1")
SANDBOX_LIMITS = ProgramLimits(
    processes=256,
    memory=2 << 30,
    open_files=1_024,
    file_size=1 << 30,
    cpu_seconds=1_800,
    free_disk=512 << 20,
)
GROUP = SessionKey(agent="main", kind=KeyKind.GROUP, name="g1", channel="telegram")


async def cast(home: Path, key: SessionKey, request: Request | None = None, **agent: object) -> Part:
    return await cast_session(home, builders.session(key), request, **agent)


async def cast_session(home: Path, session: Session, request: Request | None = None, **agent: object) -> Part:
    """What a run works with where the only agent is configured like this."""
    (home / "roost.json").write_text(json.dumps({"agents": {"list": [{"id": "main", **agent}]}}))
    loaded = load({"ROOST_HOME": str(home)})
    run = builders.run("r", session.key, request=request or Request())
    async with open_models(loaded.settings, SystemClock()) as models:
        return Director(loaded, models, UTC, lambda agent, level: ()).cast(session, run)


async def test_a_session_without_an_agent_is_played_by_the_default_one(tmp_path: Path) -> None:
    part = await cast(tmp_path, SessionKey(agent="", kind=KeyKind.GLOBAL))
    assert part.place.workspace == str(tmp_path / "workspace" / "main")


async def test_a_workspace_is_written_like_every_path(tmp_path: Path) -> None:
    part = await cast(tmp_path, MAIN, workspace="files")
    assert part.place.workspace == str(tmp_path / "files")


async def test_a_workspace_that_became_a_way_to_the_gateways_state_is_given_to_nobody(tmp_path: Path) -> None:
    (tmp_path / "roost.json").write_text(json.dumps({"agents": {"list": [{"id": "main", "workspace": "w"}]}}))
    loaded = load({"ROOST_HOME": str(tmp_path)})
    (tmp_path / "w").symlink_to(tmp_path)
    async with open_models(loaded.settings, SystemClock()) as models:
        director = Director(loaded, models, UTC, lambda agent, level: ())
        with pytest.raises(Forbidden, match="lies in the workspace"):
            director.cast(builders.session(MAIN), builders.run("r", MAIN))


async def test_a_workspace_that_was_well_is_looked_into_again_when_it_leads_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "roost.json").write_text(json.dumps({"agents": {"list": [{"id": "main", "workspace": "w"}]}}))
    loaded = load({"ROOST_HOME": str(tmp_path)})
    async with open_models(loaded.settings, SystemClock()) as models:
        director = Director(loaded, models, UTC, lambda agent, level: ())
        session, run = builders.session(MAIN), builders.run("r", MAIN)
        assert director.cast(session, run).place.workspace == str(tmp_path / "w")
        (tmp_path / "w").rmdir()
        (tmp_path / "w").symlink_to(tmp_path)
        with pytest.raises(Forbidden, match="lies in the workspace"):
            director.cast(session, run)


async def test_an_agent_that_is_not_configured_plays_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no agent ops.*agents\.list"):
        await cast(tmp_path, SessionKey.named("ops", "main"))


@pytest.mark.parametrize(
    ("mode", "key", "sandboxed"),
    [
        ("off", GROUP, False),
        ("non-main", GROUP, True),
        ("non-main", MAIN, False),
        ("all", MAIN, True),
    ],
)
async def test_a_sandbox_stands_around_the_sessions_that_its_mode_names(
    tmp_path: Path, mode: str, key: SessionKey, *, sandboxed: bool
) -> None:
    part = await cast(tmp_path, key, sandbox={"mode": mode, "workspaceAccess": "ro"})
    assert part.place.sandboxed is sandboxed
    assert part.place.access is (WorkspaceAccess.READ if sandboxed else WorkspaceAccess.WRITE)
    assert part.place.limits == (SANDBOX_LIMITS if sandboxed else ProgramLimits())
    assert (part.place.network, part.rights.network) == (False, not sandboxed)


@pytest.mark.requirement("S15")
async def test_a_sandbox_has_the_network_only_where_whoever_spawned_it_has_it(tmp_path: Path) -> None:
    sandbox = {"mode": "all", "network": True}
    assert (await cast(tmp_path, MAIN, sandbox=sandbox)).place.network
    lineage = Lineage(parent=MAIN, terms=Terms(rights=Rights(sandboxed=True, network=False)))
    session = builders.session(CHILD)._replace(lineage=lineage)
    part = await cast_session(tmp_path, session, sandbox=sandbox)
    assert (part.place.network, part.rights.network) == (False, False)


@pytest.mark.requirement("S15", "D30")
@pytest.mark.parametrize(
    ("sandbox", "level"),
    [
        ({"mode": "all"}, Level.TREE),
        ({"mode": "all", "sessionToolsVisibility": "all"}, Level.ALL),
        ({"mode": "non-main"}, Level.ALL),
    ],
)
async def test_what_a_sandbox_keeps_from_a_session_no_child_of_it_is_given(
    tmp_path: Path, sandbox: dict[str, str], level: Level
) -> None:
    tools = {"sessions": {"visibility": "all"}}
    document = {"agents": {"list": [{"id": "main", "sandbox": sandbox}]}, "tools": tools}
    (tmp_path / "roost.json").write_text(json.dumps(document))
    loaded = load({"ROOST_HOME": str(tmp_path)})
    async with open_models(loaded.settings, SystemClock()) as models:
        director = Director(loaded, models, UTC, lambda agent, level: ())
        rights = director.cast(builders.session(MAIN), builders.run("r", MAIN)).rights
    assert rights.level is level
    assert of_child(rights, Rights(level=Level.ALL)).level is level


async def test_a_run_that_saves_notes_may_do_nothing_else(tmp_path: Path) -> None:
    part = await cast(tmp_path, MAIN, Request(kind=RunKind.FLUSH))
    assert [tool.spec.name for tool in part.tools] == ["read", "write"]


async def test_a_tool_that_is_taken_away_is_named_with_the_stage_that_took_it(tmp_path: Path) -> None:
    part = await cast(tmp_path, MAIN, tools={"deny": ["exec"]})
    assert "exec" not in {tool.spec.name for tool in part.tools}
    assert [one.name for one in part.removed] == ["exec"]
