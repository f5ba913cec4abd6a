"""`sessions_search`: what is found, for whom, and what of it is shown."""

from dataclasses import replace
from typing import Any

import pytest

from roost.core.effects import Archive
from roost.core.entries import EntryDraft
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, Provenance, ProvenanceKind, ToolCall
from roost.core.passages import SNIPPET_CHARS
from roost.core.tools import ToolTraits
from roost.core.visibility import Level
from roost.testing.builders import MAIN, answered, called, returned, said
from roost.tools.sessions_search import MOST, RESULT_BYTES, SCANNED, STEP
from roost.tools.sessions_yield import SessionsYield
from tests.contract.scenes import change
from tests.credentials import mixed
from tests.unit.tools.calls import error_of, text_of
from tests.unit.tools.houses import ALICE, ALICES, CHILD, EVERYONE, OPS, SIDE, House, id_of

KEY = "sk-" + mixed(30)


@pytest.fixture
def house() -> House:
    return House()


async def search(house: House, query: str, **arguments: Any) -> dict[str, Any]:
    return await house.ask(house.search, query=query, **arguments)


async def hits(house: House, query: str, **arguments: Any) -> list[str]:
    return [row["messageId"] for row in (await search(house, query, **arguments))["results"]]


@pytest.mark.requirement("P26")
async def test_a_hit_tells_where_who_when_and_what(house: House) -> None:
    await house.open(MAIN, said("a", "the zebra crossed"), answered("b", "which zebra?"))
    found = await search(house, "zebra")
    assert (found["count"], found["truncated"]) == (2, False)
    answer, question = found["results"]
    assert (answer["role"], answer["messageId"], answer["snippet"]) == ("assistant", "b", "which zebra?")
    assert (question["sessionKey"], question["sessionId"]) == ("main", id_of(MAIN))
    assert (question["role"], question["provenance"]) == ("user", {"kind": "external_user"})


@pytest.mark.requirement("P26")
async def test_tool_output_and_words_inside_prose_without_spaces_are_found(house: House) -> None:
    await house.open(
        MAIN,
        said("a", "我们明天下午讨论项目预算的问题"),
        called("b", "c", "exec"),
        returned("c", "c", "exec", "giraffe.txt:1"),
    )
    assert await hits(house, "预算") == ["a"]
    (output,) = (await search(house, "giraffe"))["results"]
    assert (output["role"], output["toolName"], output["snippet"]) == ("toolResult", "exec", "giraffe.txt:1")


@pytest.mark.requirement("P26", "F4")
async def test_earlier_generations_and_archived_sessions_are_searched(house: House) -> None:
    await house.open(MAIN, said("a", "zebra"))
    await house.reset(said("b", "zebra"))
    await house.open(CHILD, said("c", "zebra"), parent=MAIN)
    await change(house.store, Archive(key=CHILD, at=1), key=CHILD)
    assert await hits(house, "zebra") == ["c", "b", "a"]


@pytest.mark.requirement("P8", "P26", "S20")
async def test_only_visible_sessions_are_searched(house: House) -> None:
    await house.family()
    for number, key in enumerate((MAIN, CHILD, SIDE, OPS, ALICES)):
        await house.store.append(key, (said(f"e{number}", "zebra"),))
    assert await hits(house, "zebra") == ["e1", "e0"]
    house.seeing(Level.ALL, EVERYONE)
    assert await hits(house, "zebra") == ["e4", "e3", "e2", "e1", "e0"]
    house.key, house.principal = ALICES, ALICE
    assert await hits(house, "zebra") == ["e4"]


@pytest.mark.requirement("P8")
async def test_one_session_can_be_searched_if_it_may_be_seen(house: House) -> None:
    await house.family()
    for number, key in enumerate((MAIN, CHILD, SIDE)):
        await house.store.append(key, (said(f"e{number}", "zebra"),))
    assert await hits(house, "zebra", sessionKey="main") == ["e0"]
    assert await hits(house, "zebra", sessionKey=id_of(CHILD)) == ["e1"]
    assert (await house.refused(house.search, query="zebra", sessionKey=str(SIDE)))["status"] == "forbidden"
    assert (await house.store.denials(1))[0].operation == "search"


@pytest.mark.requirement("D05")
async def test_reserved_sessions_are_not_searched(house: House) -> None:
    house.seeing(Level.ALL, EVERYONE)
    await house.open(MAIN, said("a", "zebra"))
    await house.open(SessionKey.parse("unknown"), said("b", "zebra"))
    assert await hits(house, "zebra") == ["a"]


@pytest.mark.requirement("P24", "D56")
async def test_what_may_not_be_read_is_neither_shown_nor_found(house: House) -> None:
    await house.open(
        MAIN,
        said("a", f"the zebra key is {KEY}"),
        answered("b", "<think>zebra</think>Nothing."),
        answered("c", "NO_REPLY"),
    )
    (row,) = (await search(house, "zebra"))["results"]
    assert row["snippet"] == f"the zebra key is {KEY[:6]}…{KEY[-4:]}"
    assert await hits(house, KEY.removeprefix("sk-")) == []
    assert await hits(house, "NO_REPLY") == []


@pytest.mark.requirement("D56")
async def test_the_note_of_a_session_that_yielded_is_not_found(house: House) -> None:
    await house.open(MAIN)
    yielded = text_of(await house.call(SessionsYield(house.access), message="PRIVATE zebra"))
    assert "PRIVATE zebra" in yielded
    await house.store.append(MAIN, (returned("a", "c", "sessions_yield", yielded),))
    assert await hits(house, "zebra") == []
    (row,) = (await search(house, "yielded"))["results"]
    assert "zebra" not in row["snippet"]


async def test_a_search_does_not_find_the_run_that_asks_nor_earlier_searches(house: House) -> None:
    asked = replace(said("a", "search for zebra"), run_id="r1")
    looking = ToolCall(id="c", name="sessions_search", arguments={"query": "zebra"})
    earlier = EntryDraft(id="b", body=AssistantMessage(content=(looking,), at=1))
    found = returned("d", "c", "sessions_search", "zebra")
    await house.open(MAIN, said("e", "zebra"), earlier, found, asked)
    assert await hits(house, "zebra") == ["e"]


@pytest.mark.requirement("P16", "F7")
async def test_where_a_passage_came_from_is_told_with_it(house: House) -> None:
    other = Provenance(kind=ProvenanceKind.SUBAGENT, source_session=str(CHILD))
    await house.open(MAIN, said("a", "the owner says: zebra", provenance=other))
    (row,) = (await search(house, "zebra"))["results"]
    assert row["provenance"] == {
        "kind": "internal_system",
        "sourceSessionKey": str(CHILD),
        "sourceRole": "subagent",
    }


async def test_hits_are_limited_and_it_is_told_whether_there_are_more(house: House) -> None:
    await house.open(MAIN, *(said(f"m{number}", "zebra") for number in range(30)))
    few = await search(house, "zebra")
    assert (few["count"], few["truncated"], few["results"][0]["messageId"]) == (10, True, "m29")
    assert (await search(house, "zebra", limit=1_000))["count"] == MOST
    exact = House()
    await exact.open(MAIN, *(said(f"m{number}", "zebra") for number in range(3)))
    assert (await search(exact, "zebra", limit=3))["truncated"] is False


async def test_a_session_id_confines_a_search_to_its_generation(house: House) -> None:
    before = await house.open(MAIN, said("a", "zebra"))
    await house.reset(said("b", "zebra"))
    found = await search(house, "zebra", sessionKey=before.session_id)
    assert [row["messageId"] for row in found["results"]] == ["a"]
    assert (await search(house, "zebra", sessionKey="main"))["count"] == 2


async def test_what_is_passed_over_takes_no_place_among_the_hits(house: House) -> None:
    hidden = [answered(f"h{number}", "<think>zebra</think>") for number in range(2 * STEP)]
    await house.open(MAIN, said("a", "zebra"), *hidden)
    found = await search(house, "zebra", limit=1)
    assert ([row["messageId"] for row in found["results"]], found["truncated"]) == (["a"], False)


async def test_a_search_that_gives_up_says_that_there_may_be_more(house: House) -> None:
    hidden = [answered(f"h{number}", "<think>zebra</think>") for number in range(SCANNED)]
    await house.open(MAIN, said("a", "zebra"), *hidden)
    found = await search(house, "zebra")
    assert (found["count"], found["truncated"]) == (0, True)


async def test_a_result_is_bounded_in_bytes(house: House) -> None:
    house.seeing(Level.AGENT)
    for number in range(25):
        key = SessionKey.named("main", f"{'長' * 400}{number}")
        await house.open(key, said(f"m{number}", "預算" + "長い話" * 1_000))
    outcome = await house.call(house.search, query="預算", limit=25)
    assert len(text_of(outcome).encode()) <= RESULT_BYTES
    found = await search(house, "預算", limit=25)
    assert (found["count"] < 25, found["truncated"]) == (True, True)
    assert all(len(row["snippet"]) <= SNIPPET_CHARS for row in found["results"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "`query` is missing"),
        ({"query": "?!"}, "no word in it"),
        ({"query": "a " * 3_000}, "longer than 4096"),
        ({"query": "a", "limit": 0}, "1 or more"),
        ({"query": "a", "sessionKey": ""}, "no session was named"),
    ],
)
async def test_wrong_arguments_are_an_outcome_that_says_how(
    house: House, arguments: dict[str, Any], told: str
) -> None:
    assert told in error_of(await house.call(house.search, **arguments))


def test_searching_changes_nothing() -> None:
    assert House().search.spec.name == "sessions_search"
    assert House().search.traits == ToolTraits(reenterable=True, parallel=True, recalls=True)
