import json
from pathlib import Path

import pytest

from roost.app.desk import Desk
from roost.app.providers import open_models
from roost.clock import SystemClock
from roost.config import load
from roost.core.keys import SessionKey
from roost.core.tools import Invocation, Place
from roost.core.visibility import Level
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN

TOPIC = SessionKey.parse("agent:main:telegram:group:g1:topic:a%2Fb")


@pytest.mark.parametrize(
    ("session", "key", "path"),
    [
        ({}, MAIN, None),
        ({"mirror": "/m/{agentId}/sessions.json"}, MAIN, "/m/main/gen-1.jsonl"),
        ({"mirror": "/m/{agentId}/sessions.json"}, TOPIC, None),
    ],
    ids=["no files", "files", "a topic that is no file name"],
)
async def test_rows_name_the_file_of_a_transcript_where_there_is_one(
    tmp_path: Path, session: dict[str, str], key: SessionKey, path: str | None
) -> None:
    (tmp_path / "roost.json").write_text(json.dumps({"session": session}))
    loaded, clock = load({"ROOST_HOME": str(tmp_path)}), SystemClock()
    store = MemoryStore(clock)
    await store.change_session(key, lambda _: (builders.opening(builders.session(key), "gen-1"),))
    async with open_models(loaded.settings, clock) as models:
        desk = Desk(loaded, models, store, clock, threads=(), stop=lambda run, reason: None)
        tools = desk.tools(loaded.settings.agents.default, Level.TREE)
    (listing,) = [tool for tool in tools if tool.spec.name == "sessions_list"]
    run = builders.run("r", key)
    outcome = await listing.run(
        Invocation(
            run_id="r",
            call_id="c",
            agent="main",
            key=key,
            cause=run.cause,
            place=Place(workspace=str(tmp_path)),
            arguments={},
        ),
        _nobody,
    )
    (row,) = json.loads(outcome.content[0].text)["sessions"]  # type: ignore[union-attr]
    assert row["transcriptPath"] == path


async def _nobody(text: str) -> None:
    pass
