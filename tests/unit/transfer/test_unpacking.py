"""A bundle from outside: whole and sound, or nothing of it."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from roost.core.errors import Conflict, InvalidInput
from roost.core.keys import CHILD_KINDS, SessionKey
from roost.core.messages import UserMessage
from roost.core.principals import OWNER, UNKNOWN, person
from roost.core.queries import LedgerQuery
from roost.core.sessions import Base, OpenedBy, SessionStatus
from roost.stores.memory import MemoryStore
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from roost.transfer.archives import Packer
from roost.transfer.lines import Limits
from roost.transfer.options import ImportOptions
from roost.transfer.report import Result
from roost.transfer.unpacking import keys_in, unpack

CHILD = "agent:main:subagent:one"
AGENTS = frozenset({"main", "helper"})
Change: TypeAlias = Callable[[dict[str, Any], dict[str, str]], object]
"""Of the index and of the files."""


def header(session_id: str) -> str:
    return json.dumps(
        {"type": "session", "version": 3, "id": session_id, "timestamp": "2025-01-01T00:00:00Z"}
    )


def line(name: str, text: str) -> str:
    message = {"role": "user", "content": text, "timestamp": 5}
    return json.dumps(
        {"type": "message", "id": name, "timestamp": "2025-01-01T00:00:00Z", "message": message}
    )


def generation(session_id: str, **more: Any) -> dict[str, Any]:
    return {
        "sessionId": session_id,
        "file": f"{session_id}.jsonl",
        "openedAt": 5,
        "openedBy": "first",
        **more,
    }


def bundle(path: Path, change: Change = lambda index, files: None, root: str = str(MAIN)) -> Path:
    index = {
        str(MAIN): {
            "label": "mine",
            "updatedAt": 9,
            "generations": [
                generation("g1"),
                generation("g2", openedBy="back", base={"sessionId": "g1", "seq": 1}, rule="operator"),
            ],
        },
        CHILD: {"spawnedBy": str(MAIN), "status": "done", "generations": [generation("c1")]},
    }
    files = {
        "g1.jsonl": f"{header('g1')}\n{line('e1', 'one')}\n",
        "g2.jsonl": f"{header('g2')}\n{line('e2', 'two')}\n",
        "c1.jsonl": f"{header('c1')}\n",
        "usage.jsonl": "".join(
            json.dumps({"id": name, "key": key, "sessionId": "g1", "usage": [1, 2]}) + "\n"
            for name, key in (("a", str(MAIN)), ("b", CHILD), ("c", "agent:main:subagent:gone"))
        ),
    }
    change(index, files)
    with path.open("wb") as out, Packer(out) as packer:
        for name, text in (
            files if "sessions.json" in files else {**files, "sessions.json": json.dumps(index)}
        ).items():
            with packer.part(name) as write:
                write(text.encode())
        packer.close({"root": root})
    return path


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(FakeClock())


def options(**more: Any) -> ImportOptions:
    return ImportOptions(now=NOON, **more)


async def test_sessions_generations_and_costs_are_taken_in(store: MemoryStore, tmp_path: Path) -> None:
    report = await unpack(store, bundle(tmp_path / "b"), options(), AGENTS)
    assert [(str(one.key), one.result, one.entries) for one in report.items] == [
        (str(MAIN), Result.IMPORTED, 2),
        (CHILD, Result.IMPORTED, 0),
    ]
    first, second = await store.generations(MAIN)
    assert (first.opened_by, second.opened_by, second.rule) == (OpenedBy.FIRST, OpenedBy.BACK, "operator")
    assert second.base == Base(session_id="g1", seq=1)
    child = await store.session(SessionKey.parse(CHILD))
    assert child is not None
    assert (child.lineage.parent, child.lineage.depth, child.status) == (MAIN, 1, SessionStatus.DONE)
    # What a child cost that is gone counts for the session at the top.
    assert (await store.usage(LedgerQuery(key=MAIN))).calls == 2
    assert (await store.usage(LedgerQuery(tree_of=MAIN))).calls == 3
    assert keys_in(tmp_path / "b", Limits()) == {MAIN, SessionKey.parse(CHILD)}


def drop_index(index: dict[str, Any], files: dict[str, str]) -> None:
    index.clear()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda index, files: files.pop("usage.jsonl"), "no index"),
        (lambda index, files: files.update({"sessions.json": "[]"}), "index cannot be read"),
        (drop_index, "no session to begin with"),
        (lambda index, files: index.update({"nonsense": {}}), "session key"),
        (lambda index, files: index.update({"AGENT:main:main": index[str(MAIN)]}), "to begin with"),
        (lambda index, files: index[CHILD].pop("spawnedBy"), "no child of another"),
        (lambda index, files: index[CHILD].update(spawnedBy=CHILD), "no child of another"),
        (lambda index, files: index.update({"agent:main:x": index.pop(CHILD)}), "no child of another"),
        (lambda index, files: files.update({"more.jsonl": ""}), "not those of its sessions"),
        (lambda index, files: files.pop("g2.jsonl"), "not those of its sessions"),
        (
            lambda index, files: index[CHILD]["generations"].append(generation("g1")),
            "not those of its sessions",
        ),
        (lambda index, files: index[CHILD]["generations"][0].update(archived=True), "has no transcript"),
        (lambda index, files: files.update({"usage.jsonl": "what?"}), "what it cost"),
        (lambda index, files: files.update({"usage.jsonl": "{}"}), "a call in the bundle"),
        (lambda index, files: files.update({"usage.jsonl": "x" * 200}), "what it cost"),
    ],
)
async def test_what_does_not_hold_together_is_refused_whole(
    store: MemoryStore, tmp_path: Path, change: Change, why: str
) -> None:
    small = options(limits=Limits(line_bytes=150))
    with pytest.raises(InvalidInput, match=why):
        await unpack(store, bundle(tmp_path / "b", change), small, AGENTS)
    assert await store.session(MAIN) is None


def as_person(index: dict[str, Any], files: dict[str, str]) -> None:
    index["agent:main:telegram:direct:7"] = index.pop(str(MAIN))
    index[CHILD]["spawnedBy"] = "agent:main:telegram:direct:7"
    index["agent:main:telegram:direct:7"] |= {"owner": "owner", "sendPolicy": "allow", "queueMode": "steer"}
    index["agent:main:telegram:direct:7"] |= {"ofOwner": False}


async def test_whose_it_is_follows_from_its_key(store: MemoryStore, tmp_path: Path) -> None:
    path = bundle(tmp_path / "b", as_person, root="agent:main:telegram:direct:7")
    report = await unpack(store, path, options(), AGENTS)
    owners = [(await store.session(one.key)).owner for one in report.items if one.key]  # type: ignore[union-attr]
    assert owners == [person("telegram", "7")] * 2
    (said,) = await store.entries("g1")
    assert isinstance(said.body, UserMessage)
    assert said.body.provenance.principal == person("telegram", "7")
    calls = await store.ledger(LedgerQuery(), offset=0, limit=9)
    assert {row.principal for row in calls} == {person("telegram", "7")}


@pytest.mark.parametrize("terms", [None, {}, "all"])
async def test_a_child_of_which_no_terms_are_told_may_only_read_in_a_sandbox(
    store: MemoryStore, tmp_path: Path, terms: object
) -> None:
    def untold(index: dict[str, Any], files: dict[str, str]) -> None:
        index[CHILD]["terms"] = terms

    report = await unpack(store, bundle(tmp_path / "b", untold), options(), AGENTS)
    assert report.items[1].remarks == ("what it may do is not in the bundle: here it may read, in a sandbox",)
    child = await store.session(SessionKey.parse(CHILD))
    assert child is not None
    assert child.lineage.terms is not None
    rights = child.lineage.terms.rights
    assert (rights.permits("read"), rights.permits("exec"), rights.permits("write")) == (True, False, False)
    assert (rights.sandboxed, rights.network) == (True, False)


@pytest.mark.parametrize(
    ("key", "fork"), [("agent:main:direct:bob", None), ("agent:main:telegram:direct:7", lambda: "new")]
)
async def test_what_was_another_persons_and_is_the_owners_here_was_said_by_nobody_here(
    store: MemoryStore, tmp_path: Path, key: str, fork: Callable[[], str] | None
) -> None:
    """A name that is linked to nobody here, and a fork, are the owner's."""

    def anothers(index: dict[str, Any], files: dict[str, str]) -> None:
        index.pop(CHILD), files.pop("c1.jsonl")
        index[key] = {"ofOwner": False, "generations": [generation("g1")]}
        index.pop(str(MAIN)), files.pop("g2.jsonl")

    (item,) = (await unpack(store, bundle(tmp_path / "b", anothers, root=key), options(), AGENTS, fork)).items
    assert item.remarks == ("it was somebody else's there, and is the owner's here",)
    assert item.key is not None
    session = await store.session(item.key)
    assert session is not None
    assert session.owner == OWNER
    (entry,) = await store.entries(session.session_id)
    assert isinstance(entry.body, UserMessage)
    assert entry.body.provenance.principal == UNKNOWN


async def test_it_goes_on_from_nothing_that_is_somebody_elses_here(
    store: MemoryStore, tmp_path: Path
) -> None:
    def foreign(index: dict[str, Any], files: dict[str, str]) -> None:
        index[str(MAIN)]["generations"][0]["base"] = {"sessionId": "theirs", "seq": 5}

    report = await unpack(store, bundle(tmp_path / "b", foreign), options(), AGENTS)
    assert report.items[0].remarks == ("it went on from a conversation that is not in the bundle",)
    first, _ = await store.generations(MAIN)
    assert first.base is None


async def test_a_child_on_its_own_becomes_a_session_or_nothing(store: MemoryStore, tmp_path: Path) -> None:
    def alone(index: dict[str, Any], files: dict[str, str]) -> None:
        del index[str(MAIN)], files["g1.jsonl"], files["g2.jsonl"]

    path, numbers = bundle(tmp_path / "b", alone, root=CHILD), count(1)
    with pytest.raises(InvalidInput, match="is a child") as refused:
        await unpack(store, path, options(), AGENTS)
    assert "--fork" in str(refused.value.hint)
    assert await store.session(SessionKey.parse(CHILD)) is None
    (item,) = (await unpack(store, path, options(), AGENTS, lambda: f"n{next(numbers)}")).items
    assert item.key is not None
    assert item.key.kind not in CHILD_KINDS
    session = await store.session(item.key)
    assert session is not None
    assert (session.lineage.parent, session.owner) == (None, OWNER)


async def test_an_empty_transcript_needs_no_file(store: MemoryStore, tmp_path: Path) -> None:
    def empty(index: dict[str, Any], files: dict[str, str]) -> None:
        index[CHILD]["generations"][0]["file"] = None
        del files["c1.jsonl"]

    await unpack(store, bundle(tmp_path / "b", empty), options(), AGENTS)
    assert [one.session_id for one in await store.generations(SessionKey.parse(CHILD))] == ["c1"]


def by_helper(index: dict[str, Any], files: dict[str, str]) -> None:
    index[CHILD.replace("main", "helper")] = index.pop(CHILD)


async def test_sessions_of_an_agent_that_is_not_here_are_given_to_one_that_is(
    store: MemoryStore, tmp_path: Path
) -> None:
    path = bundle(tmp_path / "b")
    with pytest.raises(InvalidInput, match="there is no agent main") as refused:
        await unpack(store, path, options(), frozenset({"helper"}))
    assert "--agent" in str(refused.value.hint)
    with pytest.raises(InvalidInput, match="there is no agent main"):
        await unpack(store, bundle(tmp_path / "mixed", by_helper), options(), frozenset({"helper"}))
    report = await unpack(store, path, options(agent="helper"), frozenset({"helper"}))
    assert [str(one.key) for one in report.items] == ["agent:helper:main", CHILD.replace("main", "helper")]


async def test_what_a_fork_cost_is_of_its_own_transcripts(store: MemoryStore, tmp_path: Path) -> None:
    numbers = count(1)
    report = await unpack(store, bundle(tmp_path / "b"), options(), AGENTS, lambda: f"new-{next(numbers)}")
    root = report.items[0].key
    assert root is not None
    first, _ = await store.generations(root)
    calls = await store.ledger(LedgerQuery(), offset=0, limit=9)
    assert [one.session_id for one in calls] == [first.session_id] * 3


async def test_nothing_in_it_was_begun_later_than_now(store: MemoryStore, tmp_path: Path) -> None:
    def tomorrow(index: dict[str, Any], files: dict[str, str]) -> None:
        index[CHILD]["generations"][0]["openedAt"] = NOON + 1

    await unpack(store, bundle(tmp_path / "b", tomorrow), options(), AGENTS)
    assert [one.opened_at for one in await store.generations(SessionKey.parse(CHILD))] == [NOON]


def of_no_agent(index: dict[str, Any], files: dict[str, str]) -> None:
    index["global"] = index.pop(str(MAIN))
    index[CHILD]["spawnedBy"] = "global"


async def test_a_session_of_no_agent_stays_one(store: MemoryStore, tmp_path: Path) -> None:
    path = bundle(tmp_path / "b", of_no_agent, root="global")
    report = await unpack(store, path, options(agent="helper"), AGENTS)
    assert [str(one.key) for one in report.items] == ["global", CHILD.replace("main", "helper")]


async def test_a_fork_has_keys_and_ids_of_its_own(store: MemoryStore, tmp_path: Path) -> None:
    path, numbers = bundle(tmp_path / "b"), count(1)
    await unpack(store, path, options(), AGENTS)
    with pytest.raises(Conflict, match="already"):
        await unpack(store, path, options(), AGENTS)
    report = await unpack(store, path, options(), AGENTS, lambda: f"new-{next(numbers)}")
    root, child = (one.key for one in report.items)
    assert root is not None
    assert (str(root), str(child)) == ("agent:main:explicit:imported-new-4", "agent:main:subagent:new-5")
    assert "its label is in use and was not taken over" in report.items[0].remarks
    first, second = await store.generations(root)
    assert second.base == Base(session_id=first.session_id, seq=1)
    assert {first.session_id, second.session_id}.isdisjoint({"g1", "g2"})
    assert (await store.usage(LedgerQuery())).calls == 3
