"""Sessions as clients are shown them."""

import pytest

from roost.core.addresses import ChatType
from roost.core.keys import KeyKind, SessionKey
from roost.core.listing import glance_at
from roost.core.sessions import Facts, Labels, Lineage, Overrides, SessionKind, SessionStatus, Summary
from roost.protocol.convert.rows import Rows, kind_of
from roost.scanners.stdlib import StdlibScanner
from roost.testing import builders
from roost.testing.builders import MAIN

ROWS = Rows(StdlibScanner(), "main")
SIDE = SessionKey.parse("agent:main:side")


def test_a_row_leaves_out_what_is_not_known() -> None:
    row = ROWS.row(builders.session(MAIN)._replace(session_id="s-1"))
    assert (row["key"], row["sessionId"], row["isMain"]) == ("agent:main:main", "s-1", True)
    assert None not in row.values()
    assert "status" not in row
    assert "derivedTitle" not in row


def test_a_row_says_what_is_known() -> None:
    session = builders.session(SIDE)._replace(
        status=SessionStatus.INTERRUPTED,
        lineage=Lineage(parent=MAIN, depth=1),
        labels=Labels(label="Trip"),
        overrides=Overrides(reasoning="on"),
        summary=Summary(title="where to", preview="to the sea", model="local/small"),
    )
    row = ROWS.row(session, titles=True, last=True)
    assert (row["status"], row["spawnedBy"], row["reasoningLevel"]) == ("failed", "agent:main:main", "on")
    assert (row["modelProvider"], row["model"]) == ("local", "small")
    assert (row["derivedTitle"], row["lastMessagePreview"]) == ("Trip", "to the sea")
    unnamed = session._replace(labels=Labels(), summary=Summary(model="small"))
    plain = ROWS.row(unnamed, titles=True, last=True)
    assert (plain["derivedTitle"], plain["model"]) == ("agent:main:side", "small")
    assert "lastMessagePreview" not in plain


@pytest.mark.parametrize(
    ("key", "chat", "kind"),
    [
        (SessionKey(agent="", kind=KeyKind.GLOBAL), None, "global"),
        (SIDE, ChatType.CHANNEL, "group"),
        (SIDE, ChatType.DIRECT, "direct"),
    ],
)
def test_the_kind_of_a_row_is_that_of_its_chat(key: SessionKey, chat: ChatType | None, kind: str) -> None:
    facts = Facts(kind=SessionKind.OTHER, chat_type=chat)
    assert kind_of(glance_at(builders.session(key)._replace(facts=facts))) == kind
