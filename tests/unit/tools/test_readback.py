"""Pages of what may be read back."""

from dataclasses import replace

import pytest

from roost.core.entries import EntryDraft
from roost.core.messages import Notice
from roost.core.queries import HistoryQuery, Position
from roost.core.recall import RecallOptions
from roost.testing.builders import MAIN, answered, returned, said
from roost.tools.readback import FIRST_STEP, ReadBack, read_back
from tests.unit.tools.houses import SCANNER, House, id_of

OPTIONS = RecallOptions(scanner=SCANNER)


def notice(number: int) -> EntryDraft:
    return EntryDraft(id=f"n{number}", body=Notice(kind="note", at=1, data={}))


def silence(number: int) -> EntryDraft:
    return answered(f"q{number}", "NO_REPLY")


@pytest.fixture
def house() -> House:
    return House()


async def read(house: House, newest: int | None = None, **options: int) -> ReadBack:
    wanted = replace(OPTIONS, newest=newest, **options)  # type: ignore[arg-type]
    return await read_back(house.store, HistoryQuery(key=MAIN), wanted)


def ids(back: ReadBack) -> list[str]:
    return [message.id for message in back.page.messages]


async def test_a_short_conversation_is_one_page(house: House) -> None:
    await house.open(MAIN, said("a", "hi"), answered("b", "hello"))
    back = await read(house, 10)
    assert (ids(back), back.more_before) == (["a", "b"], None)


async def test_an_empty_one_is_an_empty_page(house: House) -> None:
    await house.open(MAIN)
    assert (ids(await read(house, 10)), (await read(house)).more_before) == ([], None)


@pytest.mark.requirement("D07", "D12")
async def test_what_nobody_is_shown_takes_no_place_on_the_page(house: House) -> None:
    noise = [silence(number) for number in range(3 * FIRST_STEP)]
    results = [returned(f"t{number}", "c", "exec", "out") for number in range(100)]
    await house.open(MAIN, said("a", "one"), said("b", "two"), said("c", "three"), *noise, *results)
    assert ids(await read(house, 2)) == ["b", "c"]


async def test_there_is_more_only_if_a_next_page_would_hold_a_message(house: House) -> None:
    noise = [notice(number) for number in range(3 * FIRST_STEP)]
    await house.open(MAIN, *noise, said("a", "one"), silence(0), said("b", "two"))
    assert (await read(house, 2)).more_before is None
    assert (await read(house, 1)).more_before == Position(1, 3 * FIRST_STEP + 3)


async def test_a_page_that_is_full_by_its_bytes_tells_where_to_go_on(house: House) -> None:
    await house.open(MAIN, *(said(f"m{number}", "x" * 200) for number in range(300)))
    back = await read(house, None, page_bytes=2_000)
    assert back.page.dropped_messages
    assert back.more_before == Position(1, 301 - len(ids(back)))
    everything = await read(house)
    assert len(ids(everything)) < 300
    assert everything.more_before is not None


async def test_a_message_too_large_for_any_page_is_passed_and_not_met_again(house: House) -> None:
    await house.open(MAIN, said("a", "small"), said("b", "x" * 3_000))
    back = await read(house, 5, page_bytes=1_000)
    assert (ids(back), back.more_before) == (["b"], Position(1, 2))
    alone = await read_back(
        house.store, HistoryQuery(key=MAIN, before=back.more_before), replace(OPTIONS, newest=5)
    )
    assert (ids(alone), alone.more_before) == (["a"], None)


@pytest.mark.requirement("F4", "P26")
async def test_pages_go_on_across_generations(house: House) -> None:
    await house.open(MAIN, said("a", "one"), said("b", "two"))
    await house.reset(said("c", "three"))
    back = await read(house, 2)
    assert (ids(back), back.more_before) == (["b", "c"], Position(1, 2))
    assert [generation.session_id for generation in back.generations] == [id_of(MAIN), f"{id_of(MAIN)}-2"]
