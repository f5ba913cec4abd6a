"""What is left of a store without a person, row by row."""

from dataclasses import replace

import pytest

from roost.core import guests
from roost.core.addresses import Address
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.erasing import ERASED, Person
from roost.core.errors import Conflict
from roost.core.identities import IdentityLink
from roost.core.keys import SessionKey
from roost.core.letters import Letter, entry_of
from roost.core.messages import Compaction, Provenance, ProvenanceKind, Text, ToolResult, UserMessage
from roost.core.principals import OWNER, Principal
from roost.stores.bodies import dump_body, load_body
from roost.stores.codec import encode
from roost.stores.sql.bulk import STEP, TABLES, Source
from roost.stores.sql.descent import Fields
from roost.stores.sql.erasing import Without
from roost.stores.sql.rows import Binding
from roost.testing.builders import answered, said
from tests.unit.core.test_guests import asked, knocking
from tests.unit.stores.sql.erased import EVE, GROUP, HERS, Rows, eve, left


@pytest.fixture
def rows() -> Rows:
    """Her session, and a group."""
    rows = Rows()
    for number, key, owner in ((1, HERS, str(EVE)), (2, GROUP, "owner")):
        rows.add("sessions", id=number, key=key, principal=owner, title="words", haystack="words")
        rows.add("generations", id=number, session=number, session_id=f"s{number}")
    return rows


def in_group(rows: Rows, number: int, body: str, **more: Binding) -> None:
    rows.add("entries", id=number, generation=2, seq=number, body=body, source="words", **more)


async def test_a_store_is_asked_as_any_other() -> None:
    source: Source = Without(Rows(), eve())
    assert (source.where, await source.version()) == ("here", 1)
    assert not (await source.fleet()).live


@pytest.mark.requirement("F11")
async def test_her_sessions_go_with_all_that_hangs_on_them(rows: Rows) -> None:
    rows.add("entries", id=1, generation=1, seq=1, body=dump_body(said("e", "words").body))
    rows.add("events", session=1, number=1)
    rows.add("participants", session=2, principal=str(EVE))
    rows.add("ended_feeds", key=HERS)
    found = await left(rows)
    assert [row["key"] for row in found["sessions"]] == [GROUP]
    assert [row["id"] for row in found["generations"]] == [2]
    assert found.keys() == {"sessions", "generations"}


@pytest.mark.requirement("F11")
@pytest.mark.parametrize(
    ("table", "fields"),
    [
        ("inbound", {"key": GROUP, "principal": str(EVE), "state": "taken"}),
        ("inbound", {"key": HERS, "principal": "owner", "state": "pending"}),
        ("runs", {"key": HERS, "principal": "owner", "state": "queued"}),
        ("exchanges", {"requester": "agent:main:main", "target": HERS}),
        ("exchanges", {"body": '{"sent":{"by":"hers"}}'}),
        ("completions", {"batch": "hers"}),
        ("deliveries", {"key": GROUP, "body": '{"run_id":"hers"}'}),
        ("deliveries", {"key": GROUP, "address": '{"channel":"telegram","to":"7"}'}),
        ("deliveries", {"key": GROUP, "address": '{"channel":"telegram","to":"7","thread":"1"}'}),
        ("devices", {"body": '{"principal":"person:telegram:7"}'}),
        ("devices", {"body": encode(knocking("7"), guests.Row)}),
        (
            "devices",
            {"body": encode(replace(knocking("7"), chat=Address(channel="telegram", to="@ann")), guests.Row)},
        ),
        ("devices", {"body": encode(guests.admit(asked(knocking("7")), "CODE7", 1)[1], guests.Row)}),
        ("thread_bindings", {"key": f"{HERS}:thread:1"}),
        ("points", {"key": HERS, "principal": "owner"}),
        ("points", {"key": GROUP, "principal": str(EVE)}),
        ("points", {"key": GROUP, "body": f'{{"children":[{{"key":"{HERS}"}}]}}'}),
        ("jobs", {"id": "j", "principal": str(EVE)}),
        ("firings", {"job": "hers"}),
        ("budgets", {"name": "person.usd.day person:telegram:7"}),
        ("reservations", {"run_id": "hers"}),
        ("denials", {"principal": "owner", "reason": f"not {HERS}."}),
    ],
)
async def test_what_is_hers_or_tells_of_her_goes(rows: Rows, table: str, fields: Fields) -> None:
    rows.add("runs", id="hers", key=GROUP, principal=str(EVE), state="done")
    rows.add("jobs", id="hers", principal=str(EVE))
    rows.add(table, **fields)
    found = await left(rows)
    assert found.keys() == {"sessions", "generations"}


@pytest.mark.parametrize(
    ("table", "fields"),
    [
        ("gateways", {"name": "g"}),
        ("inbound", {"key": GROUP, "principal": "person:telegram:77"}),
        ("runs", {"id": "r", "key": GROUP, "principal": "owner", "state": "queued"}),
        ("exchanges", {"target": f"{HERS}7"}),
        ("devices", {"body": encode(knocking("77"), guests.Row)}),
        ("deliveries", {"key": GROUP, "address": '{"channel":"telegram","to":"77"}'}),
        ("deliveries", {"key": GROUP, "address": '{"channel":"discord","to":"7"}'}),
        ("points", {"key": GROUP, "principal": "owner"}),
        ("budgets", {"name": "agent.usd.day main"}),
        ("denials", {"principal": "person:telegram:77", "caller": None}),
        ("ledger", {"principal": "owner", "key": GROUP}),
        ("lineage", {"descendant": "agent:main:subagent:1", "ancestor": GROUP}),
        ("events", {"session": 2, "number": 1}),
    ],
)
async def test_what_is_others_stays_as_it_is(rows: Rows, table: str, fields: Fields) -> None:
    rows.add(table, **fields)
    assert (await left(rows))[table] == rows.held[table]


@pytest.mark.requirement("F11")
async def test_totals_stay_under_a_name_that_leads_to_nobody(rows: Rows) -> None:
    rows.add("ledger", id="a", principal=str(EVE), key=HERS, input=5)
    rows.add("ledger", id="b", principal=str(EVE), key=GROUP, input=6)
    rows.add("lineage", descendant="agent:main:subagent:1", ancestor=HERS, distance=1)
    found = await left(rows)
    mine, groups = found["ledger"]
    assert (mine["input"], groups["input"], groups["key"]) == (5, 6, GROUP)
    assert mine["principal"] == groups["principal"]
    assert found["lineage"][0]["ancestor"] == mine["key"]
    for row in (mine, groups):
        assert "telegram:7" not in str(row["principal"])
    assert "telegram" not in str(mine["key"])


@pytest.mark.requirement("F11")
async def test_in_a_session_of_others_her_words_and_the_answers_to_them_are_blanked(rows: Rows) -> None:
    hers = Provenance(kind=ProvenanceKind.HUMAN, principal=EVE)
    own = dump_body(UserMessage(content=(Text("words"),), at=1, provenance=hers, sender="Eve"))
    others = dump_body(said("e", "other").body)
    answer = dump_body(answered("e", "words").body)
    summary = dump_body(Compaction(summary="words", first_kept_id=None, tokens_before=1, at=1))
    found_by = dump_body(ToolResult(call_id="c", tool="t", content=(Text(f"in {HERS}: words"),), at=1))
    in_group(rows, 1, own, principal=str(EVE), run_id="hers")
    in_group(rows, 2, answer, run_id="hers")
    in_group(rows, 3, others, principal="owner", run_id="other")
    in_group(rows, 4, dump_body(answered("e", "other").body), run_id="other")
    in_group(rows, 5, summary)
    in_group(rows, 6, found_by, run_id="other")
    in_group(rows, 7, others, principal="owner", source_session=HERS)
    found = await left(rows)
    bodies = [load_body(str(row["body"])) for row in found["entries"]]
    assert [ERASED in str(body) for body in bodies] == [True, True, False, False, True, True, True]
    assert not any("words" in str(row["body"]) or "Eve" in str(row["body"]) for row in found["entries"])
    assert [row["source"] for row in found["entries"]][:3] == [None, None, "words"]
    (session,) = found["sessions"]
    assert (session["title"], session["haystack"]) == (None, GROUP)


@pytest.mark.requirement("F11")
async def test_a_letter_to_her_is_blanked_where_it_stands(rows: Rows) -> None:
    for number, to in ((1, "7"), (2, "77")):
        address = Address(channel="telegram", to=to)
        letter = Letter(
            name="n", by=Principal.parse(f"person:discord:{number}"), to=address, text="words", at=1
        )
        sent = letter.delivery(SessionKey.parse(GROUP))
        rows.add("deliveries", id=sent.id, key=GROUP, address=encode(address), body=encode(sent))
        body = dump_body(answered("e", "words").body)
        in_group(rows, number, body, entry_id=entry_of(sent.id), run_id=None)
    without = Without(rows, eve())
    await without.look()
    assert without.touched == {GROUP}
    found = await left(rows)
    assert [ERASED in str(row["body"]) for row in found["entries"]] == [True, False]
    assert [row["address"] for row in found["deliveries"]] == ['{"channel":"telegram","to":"77"}']
    assert found["sessions"][0]["title"] is None


@pytest.mark.requirement("F11")
@pytest.mark.parametrize(
    "address",
    [Address(channel="irc", to="Eve"), Address(channel="irc", to="D024", person="Eve")],
    ids=["as she writes it", "in a chat with an id of its own"],
)
async def test_a_letter_is_hers_however_her_id_is_written(rows: Rows, address: Address) -> None:
    letter = Letter(name="n", by=OWNER, to=address, text="words", at=1)
    sent = letter.delivery(SessionKey.parse(GROUP))
    rows.add("deliveries", id=sent.id, key=GROUP, address=encode(address), body=encode(sent))
    in_group(rows, 1, dump_body(answered("e", "words").body), entry_id=entry_of(sent.id), run_id=None)
    found = await left(rows, Person.named("irc:eve", (), KNOWN_CHANNELS, "secret"))
    assert ERASED in str(found["entries"][0]["body"])
    assert "deliveries" not in found


@pytest.mark.requirement("F11")
async def test_sessions_of_others_are_named_if_something_in_them_is_blanked(rows: Rows) -> None:
    found_by = dump_body(ToolResult(call_id="c", tool="t", content=(Text(f"in {HERS}: words"),), at=1))
    in_group(rows, 1, found_by, run_id="other")
    rows.add("sessions", id=3, key="agent:main:main", principal="owner")
    rows.add("generations", id=3, session=3, session_id="s3")
    rows.add("entries", id=2, generation=3, seq=1, principal="owner", body=dump_body(said("e", "no").body))
    without = Without(rows, eve())
    await without.look()
    assert without.touched == {GROUP}


async def test_what_was_never_shared_with_her_is_not_looked_into(rows: Rows) -> None:
    in_group(rows, 1, dump_body(said("e", "other").body), principal="owner")
    in_group(rows, 2, dump_body(Compaction(summary="other", first_kept_id=None, tokens_before=1, at=1)))
    found = await left(rows)
    assert found["entries"] == rows.held["entries"]
    assert [row["title"] for row in found["sessions"]] == ["words"]


async def test_a_child_that_she_had_spawned_forgets_its_task(rows: Rows) -> None:
    rows.add("sessions", id=3, key="agent:main:subagent:1", principal="owner", terms='{"task":"words"}')
    rows.add("generations", id=3, session=3, session_id="s3")
    rows.add(
        "entries", id=1, generation=3, seq=1, principal=str(EVE), body=dump_body(said("e", "words").body)
    )
    child = (await left(rows))["sessions"][1]
    assert child["terms"] == '{"task":"[erased]"}'
    assert child["haystack"] == "agent:main:subagent:1\n[erased]"


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("number", ["7", 'a"b'], ids=["plain", "odd"])
async def test_what_she_said_together_with_others_is_blanked_and_her_name_goes(
    rows: Rows, number: str
) -> None:
    def several(*voices: Principal) -> str:
        provenance = Provenance(
            kind=ProvenanceKind.HUMAN, principal=Principal.parse("agent:main"), voices=voices
        )
        return dump_body(UserMessage(content=(Text("words"),), at=1, provenance=provenance))

    ann, her = Principal.parse("person:telegram:8"), Principal.parse(f"person:telegram:{number}")
    in_group(rows, 1, several(ann, her), principal="agent:main", run_id="joint")
    in_group(rows, 2, dump_body(answered("e", "words").body), run_id="joint")
    in_group(rows, 3, several(OWNER, ann), principal="agent:main", run_id="others")
    in_group(rows, 4, dump_body(answered("e", str(her)).body), run_id="others")
    found = await left(rows, Person.named(str(her), (), KNOWN_CHANNELS, "secret"))
    bodies = [str(row["body"]) for row in found["entries"]]
    assert [ERASED in body for body in bodies] == [True, True, False, True]
    assert not any(str(her) in body for body in bodies)


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("principal", [str(EVE), "agent:main"], ids=["hers", "of all"])
async def test_what_follows_from_a_turn_of_her_and_others_is_blanked_too(rows: Rows, principal: str) -> None:
    def ran(name: str, principal: str, trace: str) -> None:
        body = f'{{"cause":{{"trace":"{trace}"}}}}'
        rows.add("runs", id=name, key=GROUP, principal=principal, state="done", body=body)

    ran("joint", principal, "t1")
    ran("child", "agent:main", "t1")
    ran("others", "agent:main", "t2")
    rows.add("sessions", id=3, key="agent:main:subagent:1", principal="owner", terms='{"task":"words"}')
    rows.add("generations", id=3, session=3, session_id="s3")
    task = dump_body(said("e", "words").body)
    rows.add("entries", id=1, generation=3, seq=1, principal="agent:main", run_id="child", body=task)
    asked = dump_body(said("e", "words").body)
    in_group(rows, 1, asked, principal=str(EVE), run_id="joint")
    in_group(rows, 2, dump_body(answered("e", "words").body), run_id="joint")
    in_group(rows, 3, dump_body(answered("e", "other").body), run_id="others")
    found = await left(rows)
    assert [row["id"] for row in found["runs"]] == ["others"]
    assert [ERASED in str(row["body"]) for row in found["entries"]] == [True, True, True, False]
    assert found["sessions"][1]["terms"] == '{"task":"[erased]"}'


@pytest.mark.requirement("F11")
@pytest.mark.parametrize(
    "route",
    [
        Address(channel="telegram", to="7"),
        Address(channel="telegram", to="D7", account="work", thread="t", person="7"),
    ],
)
async def test_a_shared_session_forgets_where_it_met_her(rows: Rows, route: Address) -> None:
    rows.add(
        "sessions",
        id=3,
        key="agent:main:main",
        principal="owner",
        title="mine",
        origin='{"provider":"telegram","sender":"telegram:7","to":"7"}',
        labels='{"label":"desk","display_name":"Eve"}',
        route=encode(route),
    )
    main = (await left(rows))["sessions"][1]
    assert (main["origin"], main["route"]) == ("{}", None)
    assert (main["labels"], main["title"]) == ('{"label":"desk"}', "mine")
    assert main["haystack"] == "agent:main:main\ndesk\nmine"


@pytest.mark.parametrize(
    ("table", "state"), [("runs", "queued"), ("runs", "running"), ("inbound", "pending")]
)
async def test_while_she_waits_for_an_answer_in_a_session_of_others_nothing_is_erased(
    rows: Rows, table: str, state: str
) -> None:
    rows.add(table, key=GROUP, principal=str(EVE), state=state)
    with pytest.raises(Conflict, match=f"not answered yet in {GROUP}"):
        await left(rows)


async def test_an_id_that_holds_on_every_channel_is_found_on_each(rows: Rows) -> None:
    rows.add("deliveries", key=GROUP, address='{"channel":"discord","to":"77"}')
    rows.add("deliveries", key=GROUP, address='{"channel":"discord","to":"7"}')
    kept = (await left(rows, eve(IdentityLink(name="eve", members=("telegram:7", "77")))))["deliveries"]
    assert [row["address"] for row in kept] == ['{"channel":"discord","to":"7"}']


async def test_rows_come_in_steps_of_one_size() -> None:
    rows = Rows()
    for number in range(3 * STEP):
        rows.add("denials", seq=number, principal="owner" if number % 3 else str(EVE))
    without = Without(rows, eve())
    await without.look()
    (table,) = [one for one in TABLES if one.name == "denials"]
    sizes = [len(batch) async for batch in without.rows(table, ("seq",))]
    assert sizes == [STEP, STEP]
