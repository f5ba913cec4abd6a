"""Messages whose sender names the session."""

from dataclasses import replace

import pytest

from roost.core.addressed import Addressed, facts_of_named
from roost.core.addresses import ChatType
from roost.core.errors import InvalidInput
from roost.core.figures import LONGEST_SAID
from roost.core.inbound import Source
from roost.core.keys import SessionKey
from roost.core.messages import Image, Provenance, ProvenanceKind, Text
from roost.core.principals import OWNER
from roost.core.remotes import BEYOND
from roost.core.sessions import SessionKind
from roost.testing.builders import MAIN

PICTURE = Image(mime="image/png", data="A")


def test_what_is_said_is_kept_whole_with_the_key_it_came_under() -> None:
    said = Addressed(
        key=MAIN, principal=OWNER, text="hi \ud800", run_id="r-1", idempotency_key="k", images=(PICTURE,)
    )
    assert said.content == (Text("hi \N{REPLACEMENT CHARACTER}"), PICTURE)
    assert said.source == Source(channel="webchat", idempotency_key="k")
    assert said.envelope.sender.id == "owner"


@pytest.mark.requirement("F6", "F7")
def test_what_another_gateway_relays_is_no_persons_word_and_comes_from_beyond() -> None:
    said = Addressed(key=MAIN, principal=OWNER, text="hi", run_id="r-1", idempotency_key="k")
    assert (said.provenance.kind, said.hops) == (ProvenanceKind.HUMAN, ())
    relayed = replace(said, relayed="agent:main:main")
    assert relayed.provenance == Provenance(
        kind=ProvenanceKind.INTER_SESSION,
        principal=OWNER,
        source_session="remote/agent:main:main",
        source_tool="sessions_send",
    )
    assert relayed.hops == (BEYOND,)


@pytest.mark.requirement("S23")
def test_a_message_is_bounded() -> None:
    said = Addressed(key=MAIN, principal=OWNER, text="x" * LONGEST_SAID, run_id="r-1", idempotency_key="k")
    with pytest.raises(InvalidInput, match="1,000,000 characters"):
        replace(said, text=said.text + "x")


def test_a_session_opened_by_its_key_has_the_facts_of_its_key() -> None:
    main = facts_of_named(MAIN, "main")
    assert (main.kind, main.chat_type, main.channel) == (SessionKind.MAIN, ChatType.DIRECT, "webchat")
    group = facts_of_named(SessionKey.parse("agent:main:telegram:group:7"), "main")
    assert (group.kind, group.chat_type) == (SessionKind.GROUP, ChatType.GROUP)
