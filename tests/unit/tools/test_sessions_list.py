"""`sessions_list`: which sessions, in which form, and how much of them."""

from dataclasses import replace
from typing import Any

import pytest

from roost.core.effects import Archive, ChangeSession
from roost.core.keys import SessionKey
from roost.core.scopes import SessionScope
from roost.core.sessions import Facts, Labels, SessionKind
from roost.core.tools import ToolTraits
from roost.core.visibility import AgentToAgent, Level
from roost.testing import builders
from roost.testing.builders import MAIN, answered, called, returned, said
from roost.tools.sessionpages import RESULT_BYTES
from roost.tools.sessions_list import MOST, MOST_CHILDREN, MOST_MESSAGES
from tests.contract.scenes import change
from tests.credentials import mixed
from tests.unit.tools.calls import error_of, text_of
from tests.unit.tools.houses import ALICE, ALICES, CHILD, EVERYONE, GRANDCHILD, OPS, SIDE, House, id_of

GLOBAL, UNKNOWN = SessionKey.parse("global"), SessionKey.parse("unknown")
KEY = "sk-" + mixed(30)


async def keys(house: House, **arguments: Any) -> list[str]:
    return [row["key"] for row in (await house.ask(house.list, **arguments))["sessions"]]


async def only(house: House, **arguments: Any) -> dict[str, Any]:
    found = await house.ask(house.list, **arguments)
    (row,) = found["sessions"]
    assert isinstance(row, dict)
    return row


# -- whose sessions ----------------------------------------------------------------------------------


@pytest.mark.requirement("D55", "D68", "P8")
async def test_only_what_is_visible_is_listed_newest_first(house: House) -> None:
    assert await keys(house) == [str(GRANDCHILD), str(CHILD), "main"]
    house.seeing(Level.SELF)
    assert await keys(house) == ["main"]
    house.seeing(Level.AGENT)
    assert await keys(house) == [str(ALICES), str(SIDE), str(GRANDCHILD), str(CHILD), "main"]
    house.seeing(Level.ALL, EVERYONE)
    assert await keys(house) == [str(ALICES), str(OPS), str(SIDE), str(GRANDCHILD), str(CHILD), "main"]


@pytest.mark.requirement("P8", "S20")
async def test_a_person_is_listed_their_own_sessions_whatever_the_level(house: House) -> None:
    house.key, house.principal = ALICES, ALICE
    house.seeing(Level.ALL, EVERYONE)
    assert await keys(house) == [str(ALICES)]


@pytest.mark.requirement("D30")
async def test_a_sandboxed_session_is_listed_what_it_spawned(house: House) -> None:
    house.sandboxed = True
    house.seeing(Level.ALL, EVERYONE)
    found = await house.ask(house.list)
    assert [row["key"] for row in found["sessions"]] == [str(GRANDCHILD), str(CHILD)]
    assert found["visibility"]["mode"] == "tree"
    assert "sessionToolsVisibility" in found["visibility"]["warning"]
    house.reach = replace(house.reach, lifted=True)
    assert len(await keys(house)) == 6


@pytest.mark.requirement("D55")
async def test_a_list_that_leaves_something_out_says_so(house: House) -> None:
    found = await house.ask(house.list)
    assert found["visibility"]["mode"] == "tree"
    assert found["visibility"]["restricted"]
    assert "tools.sessions.visibility" in found["visibility"]["warning"]
    house.seeing(Level.ALL, EVERYONE)
    assert "visibility" not in await house.ask(house.list)


@pytest.mark.requirement("D55", "D68")
@pytest.mark.parametrize(
    ("a2a", "mode", "warning"),
    [
        (
            AgentToAgent(),
            "agent",
            "agent main and those spawned from here are listed; the owner can change {}enabled.",
        ),
        (
            AgentToAgent(enabled=True),
            "agent",
            "agent main and those spawned from here are listed; the owner can change {}allow.",
        ),
        (
            AgentToAgent(enabled=True, allow=frozenset({"main", "home"})),
            "all",
            "agents home, main and those spawned from here are listed; the owner can change {}allow.",
        ),
    ],
    ids=["disabled", "nobody", "some"],
)
async def test_a_list_without_the_sessions_of_other_agents_names_what_keeps_them_out(
    house: House, a2a: AgentToAgent, mode: str, warning: str
) -> None:
    house.seeing(Level.ALL, a2a)
    found = await house.ask(house.list)
    assert str(OPS) not in [row["key"] for row in found["sessions"]]
    assert found["visibility"] == {
        "mode": mode,
        "restricted": True,
        "warning": f"Only sessions of {warning.format('tools.agentToAgent.')}",
    }


@pytest.mark.requirement("D05")
async def test_reserved_sessions_are_not_listed_and_take_no_place(house: House) -> None:
    house.seeing(Level.ALL, EVERYONE)
    await house.open(GLOBAL)
    await house.open(UNKNOWN)
    assert await keys(house, limit=2) == [str(ALICES), str(OPS)]
    assert await keys(house, limit=1, offset=1) == [str(OPS)]


@pytest.mark.requirement("D05")
async def test_under_the_global_scope_the_one_session_is_listed_as_main(house: House) -> None:
    await house.open(GLOBAL)
    house.key = GLOBAL
    house.reach = replace(house.reach, scope=SessionScope.GLOBAL)
    assert await keys(house) == ["main"]


# -- which of them -----------------------------------------------------------------------------------


@pytest.mark.requirement("D06", "D55")
async def test_every_filter_holds(house: House) -> None:
    house.seeing(Level.ALL, EVERYONE)
    row = builders.session(SIDE)._replace(facts=Facts(kind=SessionKind.CRON))
    cron = SessionKey.parse("agent:ops:cron:nightly")
    await change(house.store, builders.opening(row._replace(key=cron), "cron-1"), key=cron)
    await change(house.store, ChangeSession(key=SIDE, labels=Labels(label="garden")), key=SIDE)
    assert await keys(house, kinds=["main"]) == ["main"]
    assert await keys(house, kinds=["main", "cron"]) == ["main", str(cron)]
    assert await keys(house, label="garden") == [str(SIDE)]
    assert await keys(house, label="  garden ") == [str(SIDE)]
    assert await keys(house, label="gard") == []
    assert await keys(house, agentId="ops") == [str(OPS), str(GRANDCHILD), str(cron)]
    assert await keys(house, search="GARDEN") == [str(SIDE)]
    assert await keys(house, active_minutes="2") == [str(ALICES), str(OPS), str(SIDE)]
    assert await keys(house, agentId=" Main", search="subagent", kinds="other") == [str(CHILD)]


async def test_a_kind_that_does_not_exist_matches_nothing_and_is_named(house: House) -> None:
    found = await house.ask(house.list, kinds=["direct"])
    assert (found["sessions"], found["unknownKinds"]) == ([], ["direct"])
    assert "group" in found["knownKinds"]
    both = await house.ask(house.list, kinds=["direct", "main"])
    assert (both["count"], both["unknownKinds"]) == (1, ["direct"])


@pytest.mark.requirement("D06")
async def test_a_limit_is_lowered_to_the_most_there_is_and_pages_go_on(house: House) -> None:
    house.seeing(Level.AGENT)
    assert (await house.ask(house.list, limit=100_000))["limitApplied"] == MOST == 200
    first = await house.ask(house.list, limit=2)
    assert (first["count"], first["hasMore"], first["nextOffset"]) == (2, True, 2)
    rest = await house.ask(house.list, limit=10, offset=first["nextOffset"])
    assert (rest["count"], rest["hasMore"], "nextOffset" in rest) == (3, False, False)


@pytest.mark.requirement("D06", "D55")
async def test_a_restricted_caller_never_gets_an_empty_page_with_more_behind_it(house: House) -> None:
    for number in range(30):
        await house.open(SessionKey.named("main", f"foreign-{number}"))
    found = await house.ask(house.list, limit=2)
    assert (found["count"], found["hasMore"]) == (2, True)
    assert (await house.ask(house.list, limit=2, offset=2))["hasMore"] is False


async def test_archived_sessions_are_not_listed(house: House) -> None:
    await change(house.store, Archive(key=CHILD, at=1), key=CHILD)
    found = await house.ask(house.list)
    assert [row["key"] for row in found["sessions"]] == [str(GRANDCHILD), "main"]
    assert found["sessions"][1]["childSessions"] == []
    assert found["sessions"][0]["parentSessionKey"] == str(CHILD)


# -- what of each ------------------------------------------------------------------------------------


@pytest.mark.requirement("D08", "D09")
async def test_a_row_links_to_what_its_reader_may_see(house: House) -> None:
    main = (await house.ask(house.list))["sessions"][2]
    assert (main["key"], main["childSessions"], main["parentSessionKey"]) == ("main", [str(CHILD)], None)
    assert main["transcriptPath"] == f"/transcripts/{id_of(MAIN)}.jsonl"
    child = (await house.ask(house.list))["sessions"][1]
    assert (child["childSessions"], child["parentSessionKey"]) == ([str(GRANDCHILD)], "main")
    house.key = CHILD
    own = (await house.ask(house.list))["sessions"][1]
    assert (own["key"], own["parentSessionKey"]) == (str(CHILD), None)
    house.seeing(Level.SELF)
    assert (await only(house))["childSessions"] == []


@pytest.mark.requirement("D07", "D55")
async def test_titles_previews_and_messages_come_on_request_only() -> None:
    house = House()
    await house.open(MAIN, said("a", f"plan with {KEY}"), answered("b", "<think>hm</think>Done."))
    plain = await only(house)
    assert not {"derivedTitle", "lastMessagePreview", "messages"} & set(plain)
    row = await only(house, includeDerivedTitles=True, includeLastMessage=True, messageLimit=5)
    assert (row["derivedTitle"], row["lastMessagePreview"]) == (f"plan with {KEY[:6]}…{KEY[-4:]}", "Done.")
    assert [message["role"] for message in row["messages"]] == ["user", "assistant"]
    assert KEY not in str(row)


@pytest.mark.requirement("D07")
async def test_a_tool_heavy_tail_still_yields_as_many_messages_as_asked_for() -> None:
    house = House()
    tail = [
        draft
        for number in range(100)
        for draft in (returned(f"t{number}", "c", "exec", "out"), answered(f"q{number}", "NO_REPLY"))
    ]
    words = [said(f"m{number}", f"word {number}") for number in range(30)]
    await house.open(MAIN, *words, called("call", "c", "exec"), *tail)
    row = await only(house, messageLimit=3)
    assert [message["id"] for message in row["messages"]] == ["m28", "m29", "call"]
    assert len((await only(house, messageLimit=500))["messages"]) == MOST_MESSAGES
    assert "toolResult" not in str(row)


@pytest.mark.requirement("D55")
async def test_a_result_is_bounded_in_bytes_and_says_where_to_go_on(house: House) -> None:
    house.seeing(Level.AGENT)
    for number in range(20):
        key = SessionKey.named("main", f"long-{number}")
        await house.open(key, *(said(f"{number}-{m}", "ü" * 4_000) for m in range(3)))
    outcome = await house.call(house.list, messageLimit=3)
    assert len(text_of(outcome).encode()) <= RESULT_BYTES
    found = await house.ask(house.list, messageLimit=3)
    assert (found["truncationReason"], found["hasMore"]) == ("byte-limit", True)
    assert found["nextOffset"] == found["count"] == len(found["sessions"]) > 0
    rest = await keys(house, messageLimit=3, offset=found["nextOffset"])
    assert rest[0] not in {row["key"] for row in found["sessions"]}


async def test_a_single_row_that_is_too_large_is_told_without_its_children() -> None:
    house = House()
    await house.open(MAIN, *(said(f"m{number}", "ü" * 4_000) for number in range(20)))
    for number in range(150):
        await house.open(SessionKey.parse(f"agent:main:subagent:{'x' * 500}{number}"), parent=MAIN)
    found = await house.ask(house.list, messageLimit=20, kinds=["main"])
    (row,) = found["sessions"]
    assert found["enrichmentOmitted"]
    assert (row["childSessions"], row["messages"]) == ([], [])


@pytest.mark.requirement("D55")
@pytest.mark.parametrize("asked", [{}, {"search": "main"}, {"messageLimit": 1}])
async def test_rows_that_have_more_children_than_are_named_are_told_as_such(asked: dict[str, Any]) -> None:
    house = House()
    await house.open(MAIN)
    for number in range(MOST_CHILDREN):
        await house.open(SessionKey.parse(f"agent:main:subagent:{number}"), parent=MAIN)
    assert "enrichmentOmitted" not in await house.ask(house.list, kinds=["main"], **asked)
    await house.open(SessionKey.parse("agent:main:subagent:newest"), parent=MAIN)
    found = await house.ask(house.list, kinds=["main"], **asked)
    assert (len(found["sessions"][0]["childSessions"]), found["enrichmentOmitted"]) == (MOST_CHILDREN, True)


async def test_details_are_kept_without_the_rows(house: House) -> None:
    outcome = await house.call(house.list)
    assert outcome.details is not None
    assert (outcome.details["count"], "sessions" in outcome.details) == (3, False)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"limit": 0}, "1 or more"),
        ({"agentId": "a" * 65}, "longer than 64"),
        ({"kinds": 5}, "list of texts"),
        ({"kinds": ["main", 5]}, "texts only"),
        ({"offset": -1}, "0 or more"),
        ({"who": "me"}, "takes no `who`"),
    ],
)
async def test_wrong_arguments_are_an_outcome_that_says_how(
    house: House, arguments: dict[str, Any], told: str
) -> None:
    assert told in error_of(await house.call(house.list, **arguments))


@pytest.mark.requirement("D01")
def test_listing_changes_nothing() -> None:
    assert House().list.spec.name == "sessions_list"
    assert House().list.traits == ToolTraits(reenterable=True, parallel=True, recalls=True)


@pytest.mark.requirement("P24")
async def test_a_secret_in_a_title_is_not_found_by_guessing_it() -> None:
    house = House()
    secret = KEY
    for number in range(5):
        key = SessionKey.named("main", f"n{number}")
        await house.open(key, said(f"m{number}", f"my key is {secret if number % 2 else 'at home'}"))
    house.seeing(Level.AGENT)
    assert await keys(house, search=secret[8:20]) == []
    assert len(await keys(house, search="MY KEY")) == 5
    first = await house.ask(house.list, search="home", limit=2)
    assert (first["count"], first["hasMore"]) == (2, True)
    rest = await house.ask(house.list, search="home", limit=2, offset=first["nextOffset"])
    assert (rest["count"], rest["hasMore"]) == (1, False)
