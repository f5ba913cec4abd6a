"""Configured secrets and the store: what people type, tools are given and programs print is kept without them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from roost.core.keys import SessionKey
from roost.core.messages import ToolCall
from roost.core.queries import HistoryQuery, SearchQuery
from roost.core.runs import Run
from roost.core.seals import Seals
from roost.core.search import parse_query
from roost.core.sessions import Session
from roost.core.tools import Place
from roost.engine.rules import Part
from roost.sandboxes.processes import Processes
from roost.testing.scripts import CallTool, Say
from roost.tools.exec import Exec
from roost.tools.write import Write
from tests import credentials
from tests.flows.gateways import Bench, benches

MAIN = SessionKey.named("main", "main")
SECRETS = {secret: f"providers.p{number}.apiKey" for number, secret in enumerate(credentials.bare().values())}
KEY = next(iter(SECRETS))
SEAL = "{{secret:providers.p0.apiKey}}"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with benches("sqlite", tmp_path) as bench:
        bench.store.keep_out(Seals(SECRETS))
        bench.tools = (Exec(Processes(), sandboxed=False), Write())
        cast = bench.cast

        def in_folder(session: Session, run: Run) -> Part:
            return replace(cast(session, run), place=Place(workspace=str(tmp_path / "work")))

        (tmp_path / "work").mkdir()
        bench.change(cast=in_folder)
        yield bench


def runs(command: str) -> CallTool:
    return CallTool(ToolCall(id=command[:8], name="exec", arguments={"command": command}))


def _stored(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob("*") if file.is_file())


@pytest.mark.requirement("P24")
async def test_the_store_holds_none_of_the_configured_secrets(bench: Bench, tmp_path: Path) -> None:
    assert len(SECRETS) >= 40
    (tmp_path / "work" / "printed").write_text("\n".join(SECRETS))
    bench.model.add(
        (runs(f"printf %s {SEAL} > given"),),
        (runs("cat printed"),),
        (runs(f"true {' '.join(SECRETS)}"),),
        (Say(f"they are {' '.join(SECRETS)}"),),
    )
    async with bench.serving():
        await bench.say(f"use {KEY}, and these: {' '.join(SECRETS)}")
        await bench.replies()
        page = await bench.store.history(HistoryQuery(key=MAIN))
        hits = await bench.store.search(SearchQuery(query=parse_query(KEY)))
    assert not (tmp_path / "work" / "given").exists()
    assert repr(page.entries).count(SEAL) >= 4
    assert hits == ()
    assert [secret for secret in SECRETS if secret in repr(bench.model.requests)] == []
    stored = _stored(tmp_path)
    assert b"{{secret:" in stored
    assert [secret for secret in SECRETS if secret.encode() in stored] == []


@pytest.mark.requirement("P24")
async def test_the_name_of_a_secret_written_to_a_file_is_refused_with_the_reason(
    bench: Bench, tmp_path: Path
) -> None:
    write = ToolCall(id="w", name="write", arguments={"path": ".env", "content": f"KEY={SEAL}\n"})
    bench.model.add((CallTool(write),), (Say("done"),))
    async with bench.serving():
        await bench.say("write it down")
        await bench.replies()
        page = await bench.store.history(HistoryQuery(key=MAIN))
    assert "masked secret" in repr(page.entries)
    assert not (tmp_path / "work" / ".env").exists()
