"""A person is erased who shares an id with somebody else, or the name of her link."""

import pytest

from roost.core.identities import IdentityLink
from roost.stores.bodies import dump_body
from roost.stores.sql.descent import Fields
from roost.testing.builders import said
from tests.unit.stores.sql.erased import EVE, HERS, Rows, eve, left


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("key", ["agent:main:direct:7", "agent:main:telegram:direct:eve"])
async def test_who_has_her_id_elsewhere_or_the_name_of_her_link_as_id_loses_nothing(key: str) -> None:
    rows = Rows()
    link = IdentityLink(name="eve", members=("telegram:7",))
    theirs = "person:telegram:eve" if "eve" in key else "person:discord:7"
    rows.add("sessions", id=3, key=key, principal=theirs, title="words", haystack="words")
    rows.add("generations", id=3, session=3, session_id="s3")
    rows.add("entries", id=1, generation=3, seq=1, body=dump_body(said("e", "words").body))
    rows.add("inbound", id="m", key=key, principal=theirs, state="taken")
    rows.add("ledger", id="a", principal=theirs, key=key, input=5)
    rows.add("ended_feeds", key=key)
    found = await left(rows, eve(link))
    assert [row["key"] for row in found["sessions"]] == [key]
    assert {name: found[name] for name in ("entries", "inbound", "ledger", "ended_feeds")} == {
        name: rows.held[name] for name in ("entries", "inbound", "ledger", "ended_feeds")
    }


@pytest.mark.requirement("F11")
async def test_a_session_under_her_id_alone_that_nobody_else_had_is_hers() -> None:
    rows = Rows()
    rows.add("sessions", id=3, key="agent:main:direct:7", principal=str(EVE))
    rows.add("ended_feeds", key="agent:ops:direct:7")
    rows.add("ledger", id="a", principal=str(EVE), key="agent:sales:direct:7")
    rows.add("points", key="agent:sales:direct:7", principal="owner")
    found = await left(rows)
    assert found.keys() == {"ledger"}
    assert "direct:7" not in str(found["ledger"])


@pytest.mark.requirement("F11")
@pytest.mark.parametrize(
    ("table", "fields"),
    [
        ("exchanges", {"requester": "agent:main:main", "target": f"{HERS}.smith"}),
        ("exchanges", {"requester": f"{HERS}@example.org:thread:1", "target": "agent:main:main"}),
        ("denials", {"principal": "owner", "reason": f"not {EVE}.smith"}),
        ("devices", {"body": f'{{"principal":"{EVE}+1"}}'}),
    ],
)
async def test_who_has_an_id_that_begins_as_hers_does_loses_nothing(table: str, fields: Fields) -> None:
    rows = Rows()
    rows.add("sessions", id=1, key=HERS, principal=str(EVE))
    rows.add(table, **fields)
    assert (await left(rows))[table] == rows.held[table]
