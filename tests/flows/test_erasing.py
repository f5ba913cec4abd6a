"""One person is erased: no byte of theirs is left in the store, its backups and its transcripts, and all else stays."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import apsw
import pytest

from roost.app.backups import back_up
from roost.app.bundling import bundle_session
from roost.app.erasing import erase, who
from roost.app.opening import open_store
from roost.clock import SystemClock
from roost.config import Loaded, load
from roost.core.effects import QueueRun
from roost.core.envelopes import Sender
from roost.core.errors import Conflict, LeaseHeld, RoostError
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.ledger import Denial
from roost.core.messages import ProvenanceKind
from roost.core.models import ModelRequest
from roost.core.principals import OWNER, person
from roost.core.queries import HistoryQuery, LedgerQuery, SearchQuery, SessionQuery
from roost.core.runs import Cause
from roost.core.search import parse_query
from roost.ports import Store, Topic, TopicKind
from roost.scanners.stdlib import StdlibScanner
from roost.stores.sqlite import SqliteStore
from roost.testing import builders
from roost.testing.scripts import Say, Script, Until
from roost.transfer.exportfolder import export_to
from roost.transfer.mirror import Mirror, Places
from tests.contract.scenes import change
from tests.flows.gateways import ADA, Bench
from tests.flows.stages import GROUP, IN_KITCHEN, KITCHEN, MAIN, send, staged

pytestmark = pytest.mark.timeout(120)

EVE = Sender(id="evesid77", name="Evelyn")
EVES = SessionKey.parse("agent:main:loopback:direct:evesid77")
BOB = Sender(id="bob", name="Bob")
BOBS = SessionKey.parse("agent:main:loopback:direct:bob")
CANARIES = ("evesid77", "evelyn", "zebrafish", "kumquat", "narwhal", "quokka")
OTHERS = ("bobsword", "adasword")


def home(folder: Path) -> Loaded:
    (folder / "roost.json").write_text('{session: {mirror: "files/{agentId}"}}')
    return load({"ROOST_HOME": str(folder)})


async def lived(folder: Path) -> None:
    """Eve spoke alone, in a group with others, and was told of by the owner's agent; the others spoke too."""
    store = SqliteStore.open(folder / "roost.db", SystemClock())
    bench = Bench(store, SystemClock())
    stage = staged(bench)
    stage.max_turns = 0
    stage.play(EVES, (Say("kumquat for you"),), otherwise=(Say("ANNOUNCE_SKIP"),))
    stage.play(BOBS, (Say("bobsword heard"),))
    stage.play(GROUP, (Say("quokka, said to her"),), (Say("bobsword again"),))
    stage.play(MAIN, send(sessionKey=str(EVES), message="adasword?"), (Say("adasword done"),))
    try:
        async with bench.serving() as (engine, _):
            await bench.say("I am zebrafish", EVE)
            await bench.replies(EVE)
            await bench.say("bobsword", BOB)
            await bench.replies(BOB)
            for number, (who_speaks, text) in enumerate(((EVE, "narwhal"), (BOB, "bobsword"))):
                await bench.channel.say(text, sender=who_speaks, chat=KITCHEN)
                await bench.channel.wait_replies(IN_KITCHEN, number + 1)
            await bench.say("ask her", ADA)
            await bench.replies(ADA)
            await engine.settled()
            denial = Denial(
                at=1, operation="history", principal=OWNER, rule="r", reason="no", target=str(EVES)
            )
            await store.record_denial(denial)
            await mirrored(store, folder)
            await export_to(folder / "exports", store, EVES, StdlibScanner())
    finally:
        await store.close()


async def mirrored(store: Store, folder: Path) -> None:
    files = folder / "files" / "main"
    mirror = Mirror(store, SystemClock(), Places(of=lambda key: files, all=(files,)), StdlibScanner(), folder)
    await mirror.remember()
    await mirror.catch_up()


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes().lower() for file in folder.rglob("*") if file.is_file()}


def holding(folder: Path, words: tuple[str, ...]) -> set[str]:
    """The files in which one of these words can be read, or that are named by one."""
    return {
        name
        for name, content in bytes_in(folder).items()
        if any(word.encode() in content or word in name for word in words)
    }


async def told(store: Store, key: SessionKey) -> list[str]:
    page = await store.history(HistoryQuery(key=key))
    return [json.dumps(str(entry.body)) for entry in page.entries]


@pytest.mark.requirement("F11")
async def test_no_byte_of_an_erased_person_is_left_and_everything_else_is(tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    loaded = home(here)
    await lived(here)
    backups = (await back_up(loaded, None), await back_up(loaded, elsewhere / "copy.db"))
    async with open_store(loaded) as store:
        totals = await store.usage(LedgerQuery())
        spent = await store.spending(LedgerQuery())
        bobs = await told(store, BOBS)
    assert len(holding(tmp_path, CANARIES)) >= 5

    done = await erase(loaded, who(loaded, "loopback:evesid77"))

    assert [one.path for one in done.rewritten] == [here / "roost.db", *backups]
    assert all(one.sessions == 1 and one.rows > 5 and one.touched >= 1 for one in done.rewritten)
    assert done.unreached == ()
    assert holding(tmp_path, CANARIES) == set()
    for file in (here / "roost.db", *backups):
        assert str(file) in holding(tmp_path, OTHERS)
        store = SqliteStore.open(file, SystemClock())
        assert await store.check() == ()
        assert await store.usage(LedgerQuery()) == totals
        assert await store.spending(LedgerQuery()) == spent
        assert await told(store, BOBS) == bobs
        keys = {row.key for row in (await store.list_sessions(SessionQuery())).rows}
        assert keys == {MAIN, BOBS, GROUP}
        for word in CANARIES:
            assert await store.search(SearchQuery(query=parse_query(word))) == ()
        assert len(await store.search(SearchQuery(query=parse_query("bobsword")))) >= 4
        await store.close()


@pytest.mark.requirement("F11")
async def test_a_session_that_an_erased_person_shared_goes_on(tmp_path: Path) -> None:
    loaded = home(tmp_path)
    await lived(tmp_path)
    await erase(loaded, who(loaded, "loopback:evesid77"))
    async with open_store(loaded) as store:
        bench = Bench(store, SystemClock())
        stage = staged(bench)
        asked = stage.play(GROUP, (Say("still here"),))
        stage.play(EVES, (Say("who are you?"),))
        async with bench.serving():
            await bench.channel.say("bobsword?", sender=BOB, chat=KITCHEN, external_id="later")
            assert await bench.channel.wait_replies(IN_KITCHEN, 1) == ("still here",)
            await bench.say("it is me again", EVE, external_id="back")
            assert await bench.replies(EVE) == ("who are you?",)
            await mirrored(store, tmp_path)
        shown = "\n".join(map(str, asked.requests[0].messages))
        assert "[erased]" in shown
        assert "bobsword again" in shown
        assert len(await told(store, EVES)) == 2
    words = ("zebrafish", "kumquat", "narwhal", "quokka")
    assert holding(tmp_path, words) == set()
    assert len(list((tmp_path / "files" / "main").glob("*.jsonl"))) == 4


async def said_together(folder: Path, *senders: Sender) -> None:
    """Each of these said something in a group while the agent was busy there, and all were answered at once."""
    store = SqliteStore.open(folder / "roost.db", SystemClock())
    bench, began, free = Bench(store, SystemClock()), anyio.Event(), anyio.Event()

    def busy(request: ModelRequest) -> Script:
        began.set()
        return (Until(free), Say("done"))

    async def waiting() -> bool | None:
        return len(await store.pending_inputs(GROUP)) == len(senders) or None

    staged(bench).play(GROUP, busy, (Say("quokka, said to all"),))
    try:
        async with bench.serving():
            await bench.channel.say("adasword", sender=ADA, chat=KITCHEN)
            await began.wait()
            for one in senders:
                words = "narwhal" if one is EVE else "bobsword"
                await bench.channel.say(words, sender=one, chat=KITCHEN)
            await store.wait_for(Topic(TopicKind.SESSION, str(GROUP)), waiting)
            free.set()
            await bench.channel.wait_replies(IN_KITCHEN, 2)
    finally:
        await store.close()


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("senders", [(BOB, EVE), (EVE, BOB)], ids=["she was last", "she was first"])
async def test_what_she_said_together_with_others_is_left_nowhere(
    tmp_path: Path, senders: tuple[Sender, ...]
) -> None:
    await said_together(tmp_path, *senders)
    assert holding(tmp_path, ("narwhal",))
    loaded = home(tmp_path)
    await erase(loaded, who(loaded, "loopback:evesid77"))
    assert holding(tmp_path, CANARIES) == set()
    assert holding(tmp_path, ("adasword",))


def set_page_size(file: Path, size: int) -> None:
    connection = apsw.Connection(str(file))
    connection.pragma("journal_mode", "delete")
    connection.pragma("page_size", size)
    connection.execute("VACUUM")
    connection.pragma("journal_mode", "wal")
    connection.close()


async def exported(folder: Path, *keys: SessionKey) -> list[Path]:
    """The folders of their exports."""
    async with open_store(home(folder)) as store:
        paths = [await export_to(folder / "exports", store, key, StdlibScanner()) for key in keys]
    return [Path(path[0]).parent for path in paths]


@pytest.mark.requirement("F11")
async def test_exports_of_every_session_that_she_was_in_go_and_are_named(tmp_path: Path) -> None:
    loaded = home(tmp_path)
    await lived(tmp_path)
    *gone, kept = await exported(tmp_path, EVES, GROUP, MAIN, BOBS)
    done = await erase(loaded, who(loaded, "loopback:evesid77"))
    assert set(done.removed) == set(gone)
    assert holding(tmp_path, CANARIES) == set()
    assert list((tmp_path / "exports").iterdir()) == [kept]


@pytest.mark.requirement("F11")
async def test_bundles_with_a_session_that_she_was_in_go_and_are_named(tmp_path: Path) -> None:
    loaded = home(tmp_path)
    await lived(tmp_path)
    files = [tmp_path / name for name in ("hers", "kitchen", "bobs", "moved", "broken")]
    for key, file in zip((EVES, GROUP, BOBS, EVES, EVES), files, strict=True):
        await bundle_session(loaded, str(key), file)
    hers, kitchen, _, moved, broken = files
    moved.rename(tmp_path / "elsewhere")
    broken.write_bytes(b"what was that?")
    done = await erase(loaded, who(loaded, "loopback:evesid77"))
    assert {hers, kitchen} <= set(done.removed)
    assert [one.path for one in done.unreached] == [moved, broken]
    assert [file.exists() for file in files] == [False, False, True, False, True]
    again = await erase(loaded, who(loaded, "loopback:evesid77"))
    assert [one.path for one in again.unreached] == [moved, broken]


@pytest.mark.requirement("F11")
async def test_what_a_bundling_that_was_killed_left_goes_and_is_named(tmp_path: Path) -> None:
    loaded = home(tmp_path)
    await lived(tmp_path)
    cut, odd = tmp_path / "cut", tmp_path / "a name of\u2028two\nlines"
    for file in (cut, odd):
        await bundle_session(loaded, str(EVES), file)
    part = cut.rename(tmp_path / "cut.part")
    done = await erase(loaded, who(loaded, "loopback:evesid77"))
    assert {part, odd} <= set(done.removed)
    assert done.unreached == ()
    assert not any(one.exists() for one in (part, odd))
    assert (await erase(loaded, who(loaded, "loopback:evesid77"))).unreached == ()


@pytest.mark.requirement("F11")
async def test_exports_of_sessions_that_only_a_backup_knows_go_too(tmp_path: Path) -> None:
    loaded = home(tmp_path)
    await lived(tmp_path)
    await back_up(loaded, None)
    (tmp_path / "roost.db").unlink()
    async with open_store(loaded):
        pass
    assert list((tmp_path / "exports").iterdir())
    await erase(loaded, who(loaded, "loopback:evesid77"))
    assert holding(tmp_path, CANARIES) == set()


@pytest.mark.requirement("F11")
async def test_what_is_cut_short_before_the_store_forgets_can_be_done_again(tmp_path: Path) -> None:
    loaded = home(tmp_path)
    await lived(tmp_path)
    # Pages of another size cannot be written over those of a file with a log, which shows when the first one is.
    set_page_size(tmp_path / "roost.db", 8_192)
    with pytest.raises(RoostError):
        await erase(loaded, who(loaded, "loopback:evesid77"))
    assert holding(tmp_path, CANARIES) == {str(tmp_path / "roost.db")}
    set_page_size(tmp_path / "roost.db", 4_096)
    again = await erase(loaded, who(loaded, "loopback:evesid77"))
    assert again.rewritten[0].sessions == 1
    assert holding(tmp_path, CANARIES) == set()


async def test_erasing_twice_changes_nothing_more_and_names_what_is_out_of_reach(tmp_path: Path) -> None:
    loaded = home(tmp_path)
    await lived(tmp_path)
    moved = await back_up(loaded, tmp_path / "moved.db")
    moved.rename(tmp_path / "away.db")
    first = await erase(loaded, who(loaded, "loopback:evesid77"))
    assert [one.path for one in first.unreached] == [moved]
    assert "no store" in first.unreached[0].why
    assert holding(tmp_path, ("zebrafish",)) == {str(tmp_path / "away.db")}
    again = await erase(loaded, who(loaded, "person:loopback:evesid77"), (tmp_path / "away.db",))
    assert (again.rewritten[0].rows, again.rewritten[0].sessions) == (0, 0)
    assert again.rewritten[1].rows > 5
    assert holding(tmp_path, CANARIES) == set()


async def test_nothing_is_erased_while_somebody_works_or_waits_for_an_answer(tmp_path: Path) -> None:
    loaded = home(tmp_path)
    await lived(tmp_path)
    async with open_store(loaded) as store:
        bench = Bench(store, SystemClock())
        async with bench.serving() as (_, lease):
            with pytest.raises(LeaseHeld):
                await erase(loaded, who(loaded, "loopback:evesid77"))
    async with open_store(loaded) as store:
        lease = await store.acquire_lease(Gateway(name="setup", holder="setup"))
        cause = Cause(principal=person("loopback", "evesid77"), kind=ProvenanceKind.HUMAN, trace="t")
        run = replace(builders.run("waiting", GROUP), cause=cause)
        await change(store, QueueRun(run=run), key=GROUP)
        await store.release_lease(lease)
    with pytest.raises(Conflict, match="not answered yet"):
        await erase(loaded, who(loaded, "loopback:evesid77"))
    assert str(tmp_path / "roost.db") in holding(tmp_path, ("zebrafish",))
