"""A session from one gateway to another in one file."""

import io
import json
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roost.core.effects import ChangeSession, Effects
from roost.core.entries import EntryDraft
from roost.core.errors import Conflict
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import AssistantMessage, Compaction, Notice, ToolCall, Usage
from roost.core.principals import OWNER
from roost.core.queries import LedgerQuery
from roost.core.rights import Rights
from roost.core.runs import RunKind
from roost.core.seals import Seals
from roost.core.sessions import Base, Labels, Lineage, OpenedBy, SessionStatus
from roost.core.snapshots import Snapshot
from roost.core.terms import Terms
from roost.engine.ids import FreshIds
from roost.ports import Store
from roost.scanners.stdlib import StdlibScanner
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from roost.testing.scripts import Say
from roost.testing.wires import LocalClient
from roost.transfer.cleaning import masking
from roost.transfer.options import ImportOptions
from roost.transfer.packing import pack
from roost.transfer.report import Result
from roost.transfer.unpacking import unpack
from tests.flows.gateways import benches_on
from tests.flows.served import Gate, gate_of, gates, send
from tests.grounds import Ground, GroundOf

PICTURE = {"type": "image", "mimeType": "image/png", "content": "iVBORw0KGgo="}
CHILD = SessionKey.parse("agent:main:subagent:0195a1c2-7d10-4a51-9c3e-2f4b6d8e0a01")
GRANDCHILD = SessionKey.parse("agent:helper:subagent:0195a1c2-7d10-4a51-9c3e-2f4b6d8e0a02")
WORDS = ("apple", "pear", "plum", "counted")
AGENTS = frozenset({"main", "helper"})
UNTOLD = {"ts", "runId", "idempotencyKey", "modelReason", "channel", "chatType"}
LATE = 4_000_000_000_000


@asynccontextmanager
async def opened(ground: Ground) -> AsyncIterator[Gate]:
    async with benches_on(ground) as bench, gate_of(bench, ground.folder) as gate:
        yield gate


async def talked(client: LocalClient, gate: Gate, text: str, **more: object) -> None:
    gate.bench.model.add((Say(f"{text} too"),))
    await client.call("chat.send", send(f"say {text}", text, **more))
    await client.event("chat", state="final", runId=text)


async def spawned(store: Store, key: SessionKey, parent: SessionKey, depth: int, task: str) -> None:
    """A child that has done its task, began with what its parent knew, and cost something."""
    above = await store.session(parent)
    assert above is not None
    terms = Terms(task=task, rights=Rights(deny=frozenset({"exec"})))
    row = builders.session(key)._replace(
        status=SessionStatus.DONE, lineage=Lineage(parent=parent, depth=depth, terms=terms)
    )
    opening = builders.opening(row, f"{key.name}-s")
    based = replace(
        opening.generation,
        opened_by=OpenedBy.FORK,
        base=Base(session_id=above.session_id, seq=above.summary.entries),
    )

    def decide(snapshot: Snapshot) -> Effects:
        return (replace(opening, generation=based),)

    await store.change_session(key, decide)
    await store.append(key, (builders.said(f"{depth}-1", task), builders.answered(f"{depth}-2", "counted")))
    cost = LedgerRow(
        id=f"call-{depth}",
        at=NOON,
        key=key,
        session_id=f"{key.name}-s",
        principal=OWNER,
        run_id="r",
        run_kind=RunKind.TURN,
        provider="p",
        model="m",
        usage=Usage(input=10, output=depth, total=10 + depth, cost_micros=7),
    )
    await store.record_usage(cost)


async def lived(gate: Gate, client: LocalClient) -> None:
    """A conversation with a picture, a reset, a way back, a summary, a child and a child of that."""
    store = gate.bench.store
    await client.call("sessions.patch", {"key": "main", "label": "fruit", "thinkingLevel": "high"})
    await talked(client, gate, "apple", attachments=[PICTURE])
    await client.call("sessions.reset", {"key": "main"})
    await talked(client, gate, "pear")
    await client.call("chat.send", send("/back", "back"))
    await talked(client, gate, "plum")
    summary = Compaction(summary="fruit so far", first_kept_id=None, tokens_before=9, tokens_after=3, at=NOON)
    await store.append(MAIN, (EntryDraft(id="sum", body=summary),))
    await spawned(store, CHILD, MAIN, 1, "count plums")
    await spawned(store, GRANDCHILD, CHILD, 2, "count pears")


async def packed(store: Store, path: Path) -> Path:
    with path.open("wb") as out:
        await pack(store, MAIN, out, masking(StdlibScanner()), LATE)
    return path


def options(**more: Any) -> ImportOptions:
    return ImportOptions(now=LATE, **more)


def told(rows: Any) -> Any:
    """Without what says when it was asked, what the runs of one gateway were, and where people reached it there."""
    if isinstance(rows, dict):
        return {name: told(value) for name, value in rows.items() if name not in UNTOLD}
    return [told(one) for one in rows] if isinstance(rows, list) else rows


async def known(client: LocalClient, store: Store) -> dict[str, Any]:
    """All that a client reads of them."""
    keys = (MAIN, CHILD, GRANDCHILD)
    found: dict[str, Any] = {}
    for key in keys:
        found[f"history {key}"] = told(await client.call("chat.history", {"sessionKey": str(key)}))
        found[f"timeline {key}"] = told(await client.call("sessions.timeline", {"key": str(key)}))
        found[f"cost {key}"] = [
            await store.usage(LedgerQuery(key=key)),
            await store.usage(LedgerQuery(tree_of=key)),
        ]
        session = await store.session(key)
        assert session is not None
        context = await store.conversation(session.session_id)
        assert context is not None
        found[f"context {key}"] = [one.id for one in context.entries]
    for word in WORDS:
        hits = (await client.call("roost.search", {"query": word}))["results"]
        found[f"search {word}"] = sorted(map(json.dumps, told(hits)))
    found["tree"] = told(await client.call("sessions.tree", {"key": "main"}))
    return found


@pytest.mark.requirement("F12")
@pytest.mark.parametrize(
    ("here", "there"), [("memory", "sqlite"), ("sqlite", "postgres"), ("postgres", "memory")]
)
async def test_history_search_tree_and_totals_are_the_same_on_another_host(
    here: str, there: str, ground_of: GroundOf, tmp_path: Path
) -> None:
    async with opened(await ground_of(here).fresh("a")) as a, a.client() as client:
        await lived(a, client)
        path = await packed(a.bench.store, tmp_path / "bundle")
        before = await known(client, a.bench.store)
    assert before["cost agent:main:main"][1].calls == 5
    async with opened(await ground_of(there).fresh("b")) as b, b.client() as client:
        report = await unpack(b.bench.store, path, options(), AGENTS)
        assert report.count(Result.IMPORTED) == 3
        assert await known(client, b.bench.store) == before
        assert await b.bench.store.check() == ()


async def test_a_second_import_is_refused_and_changes_nothing_or_is_kept_beside_the_first(
    tmp_path: Path,
) -> None:
    async with gates("sqlite", tmp_path / "a") as a, a.client() as client:
        await lived(a, client)
        path = await packed(a.bench.store, tmp_path / "bundle")
    async with gates("memory", tmp_path / "b") as b, b.client() as client:
        store = b.bench.store
        await unpack(store, path, options(), AGENTS)
        before = await known(client, store)
        with pytest.raises(Conflict, match="agent:main:main already") as refused:
            await unpack(store, path, options(), AGENTS)
        assert "--fork" in str(refused.value.hint)
        assert await known(client, store) == before
        report = await unpack(store, path, options(), AGENTS, FreshIds(b.bench.clock))
        assert report.count(Result.FORKED) == 3
        assert "its label is in use" in report.items[0].remarks[0]
        root = report.items[0].key
        assert root is not None
        after = await known(client, store)
        assert all(after[name] == before[name] for name in before if not name.startswith("search"))
        # What it cost is counted once, and what was said is there twice.
        assert (await store.usage(LedgerQuery())).calls == 5
        tree = (await client.call("sessions.tree", {"key": str(root)}))["tree"]
        (child,) = tree["children"]
        assert (tree["derivedTitle"], child["derivedTitle"]) == ("say plum", "count plums")
        assert [one["derivedTitle"] for one in child["children"]] == ["count pears"]
        again = told(await client.call("sessions.timeline", {"key": str(root)}))
        assert [one["content"] for one in again["messages"]] == [
            one["content"] for one in before["timeline agent:main:main"]["messages"]
        ]
        session = await store.session(root)
        assert session is not None
        context = await store.conversation(session.session_id)
        assert context is not None
        assert [one.id for one in context.entries] == before["context agent:main:main"]


async def test_one_part_that_is_taken_leaves_the_whole_bundle_outside(tmp_path: Path) -> None:
    async with gates("memory", tmp_path / "a") as a, a.client() as client:
        await lived(a, client)
        path = await packed(a.bench.store, tmp_path / "bundle")
    async with gates("sqlite", tmp_path / "b") as b, b.client() as client:
        store = b.bench.store
        taken = builders.opening(builders.session(GRANDCHILD), "another")
        await store.change_session(GRANDCHILD, lambda _: (taken,))
        with pytest.raises(Conflict, match=str(GRANDCHILD)):
            await unpack(store, path, options(), AGENTS)
        assert await store.session(MAIN) is None
        assert (await store.usage(LedgerQuery())).calls == 0


@pytest.mark.requirement("F12")
async def test_no_secret_is_in_a_bundle(tmp_path: Path) -> None:
    """Wherever one was written: those of the configuration under the name of their setting, others masked."""
    hidden = "sk-ant-api03-" + "q7Zx" * 20 + "AA"
    configured = "correct-horse-battery-9"
    both = f"{hidden} and {configured}"
    async with gates("memory", tmp_path) as gate, gate.client() as client:
        store = gate.bench.store
        await client.call("sessions.patch", {"key": "main", "label": both})
        await talked(client, gate, f"words {both}")
        called = builders.called("e1", "c", "exec")
        call = ToolCall(id="c", name="exec", arguments={"command": both, "password": configured})
        await store.append(
            MAIN,
            (
                replace(called, body=AssistantMessage(content=(call,), at=1, error=both)),
                builders.returned("e2", "c", "exec", f"TOKEN={hidden} {configured}"),
                EntryDraft(id="e3", body=Compaction(summary=both, first_kept_id=None, tokens_before=1, at=1)),
                EntryDraft(id="e4", body=Notice(kind="note", at=1, data={"api_key": hidden, "x": [both]})),
                replace(builders.said("e5", "x"), source=f"{both} is no json"),
            ),
        )
        await spawned(store, CHILD, MAIN, 1, f"use {both}")
        row = await store.session(CHILD)
        assert row is not None
        labels = Labels(display_name=both, subject=both, room=both, space=both)
        await store.change_session(CHILD, lambda _: (ChangeSession(key=CHILD, labels=labels),))
        clean = masking(StdlibScanner(), Seals({configured: "tools.token"}))
        out = io.BytesIO()
        await pack(store, MAIN, out, clean, LATE)
    with zipfile.ZipFile(out) as opened:
        parts = {name: opened.read(name).decode() for name in opened.namelist()}
    text = "".join(parts.values())
    assert hidden not in text
    assert configured not in text
    assert text.count("{{secret:tools.token}}") >= 10
