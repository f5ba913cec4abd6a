"""A session with all below it as one file."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from roost.core.effects import ChangeSession, DeleteSession
from roost.core.errors import Conflict, NotFound
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import OWNER
from roost.core.queries import Page, SessionQuery
from roost.core.runs import RunKind
from roost.core.sessions import Generation, Lineage, Session
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from roost.transfer.options import ImportOptions
from roost.transfer.packing import PAGE, Packed, pack
from roost.transfer.report import Result
from roost.transfer.unpacking import unpack


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(FakeClock())


def child(name: str) -> SessionKey:
    return SessionKey(agent="main", kind=MAIN.kind.SUBAGENT, name=name)


async def said(store: Store, key: SessionKey, parent: SessionKey | None = None) -> None:
    depth = 0 if parent is None else 1
    row = builders.session(key)._replace(lineage=Lineage(parent=parent, depth=depth))
    opening = builders.opening(row, f"{key.name}-s")
    await store.change_session(key, lambda _: (opening,))
    await store.append(key, (builders.said(f"{key.name}-e", "words"),))


async def spent(store: Store, name: str, key: SessionKey) -> None:
    usage = Usage(input=1, total=1)
    await store.record_usage(
        LedgerRow(
            id=name, at=NOON, key=key, session_id="s", principal=OWNER, run_id="r", run_kind=RunKind.TURN,
            provider="p", model="m", usage=usage,
        )
    )  # fmt: skip


def same(text: str) -> str:
    return text


async def packed(store: Store, key: SessionKey = MAIN) -> tuple[Packed, dict[str, str]]:
    out = io.BytesIO()
    done = await pack(store, key, out, same, NOON)
    with zipfile.ZipFile(out) as opened:
        return done, {name: opened.read(name).decode() for name in opened.namelist()}


def index(parts: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(parts["sessions.json"])
    return found


async def test_all_below_it_is_in_it_and_nothing_else(store: MemoryStore) -> None:
    await said(store, MAIN)
    await said(store, SessionKey.named("main", "other"))
    await said(store, child("one"), MAIN)
    await said(store, child("two"), child("one"))
    await spent(store, "a", MAIN)
    await spent(store, "b", child("two"))
    await spent(store, "c", SessionKey.named("main", "other"))
    done, parts = await packed(store)
    assert done == Packed(sessions=3, transcripts=3, lines=6, calls=2)
    assert [*index(parts)] == [str(MAIN), str(child("one")), str(child("two"))]
    assert {*parts} == {
        "main-s.jsonl", "one-s.jsonl", "two-s.jsonl", "sessions.json", "usage.jsonl", "manifest.json"
    }  # fmt: skip
    manifest = json.loads(parts["manifest.json"])
    assert (manifest["root"], manifest["counts"]["lines"], len(manifest["parts"])) == (str(MAIN), 6, 5)
    _, below = await packed(store, child("one"))
    assert [*index(below)] == [str(child("one")), str(child("two"))]


async def test_a_family_of_any_size_is_packed(store: MemoryStore) -> None:
    await said(store, MAIN)
    for number in range(PAGE + 1):
        await said(store, child(str(number)), MAIN)
        await spent(store, f"call {number}", child(str(number)))
    done, parts = await packed(store)
    assert (done.sessions, done.calls) == (PAGE + 2, PAGE + 1)
    assert len({json.loads(line)["id"] for line in parts["usage.jsonl"].splitlines()}) == PAGE + 1


class Busy(MemoryStore):
    """Something happens right after the sessions are first listed."""

    def __init__(self, then: ChangeSession | DeleteSession) -> None:
        super().__init__(FakeClock())
        self._then = then
        self._done = False

    async def list_sessions(self, query: SessionQuery) -> Page[Session]:
        page = await super().list_sessions(query)
        if not self._done:
            self._done = True
            await self.change_session(self._then.key, lambda _: (self._then,))
        return page


async def unpacked(parts: bytes, folder: Path) -> int:
    (folder / "bundle").write_bytes(parts)
    options = ImportOptions(now=NOON)
    report = await unpack(MemoryStore(FakeClock()), folder / "bundle", options, frozenset({"main"}))
    return report.count(Result.IMPORTED)


@pytest.mark.requirement("F12")
async def test_what_goes_on_while_a_large_family_is_listed_is_in_it_once(tmp_path: Path) -> None:
    """The last child of the list goes on after the first page was read, and so comes to be first."""
    store = Busy(ChangeSession(key=child(str(PAGE - 1)), touched=NOON + 1))
    await said(store, MAIN)
    for number in range(PAGE + 1):
        await said(store, child(str(number)), MAIN)
    out = io.BytesIO()
    assert (await pack(store, MAIN, out, same, NOON)).sessions == PAGE + 2
    assert await unpacked(out.getvalue(), tmp_path) == PAGE + 2


@pytest.mark.requirement("F12")
async def test_what_is_removed_meanwhile_is_left_out_with_all_below_it(tmp_path: Path) -> None:
    store = Busy(DeleteSession(key=child("one")))
    await said(store, MAIN)
    await said(store, child("one"), MAIN)
    await said(store, child("two"), child("one"))
    await said(store, child("three"), MAIN)
    out = io.BytesIO()
    assert (await pack(store, MAIN, out, same, NOON)).sessions == 2
    assert await unpacked(out.getvalue(), tmp_path) == 2


async def test_a_session_that_goes_before_anything_of_it_is_written_is_not_packed() -> None:
    class Gone(MemoryStore):
        async def generations(self, key: SessionKey) -> tuple[Generation, ...]:
            return ()

    store = Gone(FakeClock())
    await said(store, MAIN)
    with pytest.raises(NotFound, match="no session"):
        await packed(store)


async def test_a_conversation_of_any_length_is_packed(store: MemoryStore) -> None:
    await said(store, MAIN)
    await store.append(MAIN, tuple(builders.said(str(number), "words") for number in range(2 * PAGE)))
    done, parts = await packed(store)
    assert done.lines == 2 * PAGE + 2
    lines = [json.loads(line) for line in parts["main-s.jsonl"].splitlines()]
    assert [line["id"] for line in lines[2:]] == [str(number) for number in range(2 * PAGE)]


async def test_what_a_child_cost_that_is_gone_is_not_forgotten(store: MemoryStore) -> None:
    await said(store, MAIN)
    await said(store, child("one"), MAIN)
    await spent(store, "a", child("one"))
    await store.change_session(child("one"), lambda _: (DeleteSession(key=child("one")),))
    done, parts = await packed(store)
    assert (done.sessions, done.calls) == (1, 1)
    assert json.loads(parts["usage.jsonl"])["key"] == str(child("one"))


async def test_only_a_session_that_is_there_is_packed(store: MemoryStore) -> None:
    with pytest.raises(NotFound, match="no session"):
        await packed(store)


async def test_a_key_with_a_secret_in_it_is_not_packed(store: MemoryStore) -> None:
    await said(store, MAIN)
    with pytest.raises(Conflict, match="a secret in the key"):
        await pack(store, MAIN, io.BytesIO(), lambda text: text.replace("main", "***"), NOON)
