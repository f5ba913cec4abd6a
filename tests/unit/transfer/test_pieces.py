import pytest

from roost.core.errors import InvalidInput, NotFound
from roost.core.exports import Reached
from roost.core.keys import SessionKey
from roost.core.resets import Reset, open_generation
from roost.core.sessions import OpenedBy
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from roost.transfer.export import export_session
from roost.transfer.pieces import Cover, piece_after


@pytest.fixture
async def store() -> MemoryStore:
    store = MemoryStore(FakeClock())
    await store.change_session(MAIN, lambda snapshot: (builders.opening(builders.session(), "gen-1"),))
    await store.append(MAIN, tuple(builders.said(f"e{number}", "words " * number) for number in range(9)))
    fresh = Reset(reason=OpenedBy.RESET, session_id="gen-2", at=NOON, rule="r")
    await store.change_session(MAIN, lambda snapshot: open_generation(snapshot, fresh))
    await store.append(MAIN, (builders.said("f1", "é" * 50),))
    return store


def as_it_is(line: bytes) -> bytes:
    return line


async def pieces(store: MemoryStore, largest: int, cover: Cover = as_it_is) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    piece = await piece_after(store, MAIN, None, cover, largest)
    while True:
        assert len(piece.data) <= largest
        found[piece.name] = found.get(piece.name, b"") + piece.data
        if piece.then is None:
            return found
        piece = await piece_after(store, MAIN, Reached.parse(str(piece.then)), cover, largest)


@pytest.mark.parametrize("largest", [7, 64, 200, 1 << 20])
async def test_pieces_of_any_size_are_the_export(store: MemoryStore, largest: int) -> None:
    whole: dict[str, bytes] = {}

    async def sink(name: str, line: bytes) -> None:
        whole[name] = whole.get(name, b"") + line

    await export_session(store, MAIN, sink)
    assert len(whole) == 2
    assert await pieces(store, largest) == whole


async def test_what_is_covered_in_a_line_does_not_show_in_two_pieces_of_it(store: MemoryStore) -> None:
    def cover(line: bytes) -> bytes:
        return line.replace(b"words", b"*****")

    plain = await pieces(store, 1 << 20)
    assert await pieces(store, 8, cover) == {name: cover(data) for name, data in plain.items()}


async def test_lines_that_are_written_meanwhile_come_too(store: MemoryStore) -> None:
    piece, shown = await piece_after(store, MAIN, Reached(session_id="gen-2"), as_it_is, 20), b""
    await store.append(MAIN, (builders.said("f2", "late"),))
    while piece.then is not None:
        shown += piece.data
        piece = await piece_after(store, MAIN, piece.then, as_it_is, 20)
    assert b"late" in shown + piece.data


async def test_what_is_not_there_has_no_pieces(store: MemoryStore) -> None:
    with pytest.raises(NotFound):
        await piece_after(store, SessionKey.named("main", "other"), None, as_it_is)
    with pytest.raises(InvalidInput, match="any more"):
        await piece_after(store, MAIN, Reached(session_id="gone"), as_it_is)
