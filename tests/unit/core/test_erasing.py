from dataclasses import replace

import pytest

from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.erasing import ERASED, Person, blanked
from roost.core.errors import InvalidInput
from roost.core.identities import IdentityLink
from roost.core.keys import SessionKey
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Image,
    Notice,
    Provenance,
    ProvenanceKind,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from roost.core.principals import OWNER, Principal

LINKS = (IdentityLink(name="Eve", members=("telegram:7", "matrix:@Eve", "77")),)


def named(text: str) -> Person:
    return Person.named(text, LINKS, KNOWN_CHANNELS, "secret")


EVE = named("eve")


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("text", ["eve", "Eve", "person:eve", "telegram:7", "Telegram:7", "matrix:@Eve"])
def test_a_person_is_meant_by_any_of_their_names(text: str) -> None:
    assert {str(one) for one in named(text).principals} == {
        "person:eve",
        "person:telegram:7",
        "person:matrix:@Eve",
    }


def test_one_who_is_not_linked_is_meant_by_channel_and_id() -> None:
    assert {str(one) for one in named("Telegram:ABC").principals} == {"person:telegram:abc"}
    assert {str(one) for one in named("person:matrix:@Bob").principals} == {"person:matrix:@Bob"}


@pytest.mark.parametrize("text", ["", "bob", "owner", ":7", "telegram:"])
def test_who_is_not_known_by_a_name_is_nobody(text: str) -> None:
    with pytest.raises(InvalidInput, match="names nobody"):
        named(text)


@pytest.mark.parametrize(
    ("channel", "to", "there"),
    [
        ("telegram", "7", True),
        ("telegram", "telegram:7", True),
        ("matrix", "@Eve", True),
        ("matrix", "@eve", False),
        ("telegram", "77", True),
        ("discord", "7", False),
        ("discord", "77", True),
        (None, "7", False),
        ("telegram", None, False),
    ],
)
def test_the_chat_with_a_person_is_known(channel: str | None, to: str | None, there: bool) -> None:
    assert EVE.is_at(channel, to, KNOWN_CHANNELS) is there


@pytest.mark.parametrize(
    ("key", "theirs"),
    [
        ("agent:main:telegram:direct:7", True),
        ("agent:main:telegram:direct:77", True),
        ("agent:main:direct:eve", False),
        ("agent:main:direct:7", False),
        ("agent:main:telegram:direct:eve", False),
        ("agent:main:discord:direct:7", False),
        ("agent:main:telegram:direct:777", False),
        ("agent:main:telegram:group:7", False),
        ("agent:main:main", False),
    ],
)
def test_a_key_says_whose_conversation_it_is(key: str, theirs: bool) -> None:
    assert EVE.has(SessionKey.parse(key)) is theirs


@pytest.mark.parametrize(
    ("key", "maybe"),
    [
        ("agent:main:direct:eve", True),
        ("agent:main:direct:7", True),
        ("agent:main:telegram:direct:eve", True),
        ("agent:main:telegram:slash:eve", True),
        ("agent:main:discord:direct:7", False),
        ("agent:main:direct:777", False),
        ("agent:main:telegram:group:eve", False),
        ("agent:main:eve", False),
    ],
)
def test_a_key_can_be_hers_that_names_an_id_alone_or_the_name_of_her_link(key: str, maybe: bool) -> None:
    assert EVE.may_have(SessionKey.parse(key)) is maybe


def test_what_stands_in_their_place_is_the_same_each_time_and_leads_to_nobody() -> None:
    key = SessionKey.parse("agent:ops:telegram:direct:7")
    assert EVE.stand_in_for(key) == EVE.stand_in_for(key)
    assert EVE.stand_in_for(key).agent == "ops"
    other = replace(EVE, secret="another")
    assert other.stand_in_for(key) != EVE.stand_in_for(key)
    assert other.stand_in != EVE.stand_in
    assert "7" not in str(EVE.stand_in).split("-")


THEIRS = Provenance(
    kind=ProvenanceKind.HUMAN, principal=Principal.parse("person:telegram:7"), source_session="x"
)
OTHERS = Provenance(kind=ProvenanceKind.INTER_SESSION, principal=OWNER, source_session="x")


@pytest.mark.requirement("F11")
@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (
            UserMessage(content=(Text("w"), Image(mime="i", data="w")), at=1, provenance=THEIRS, sender="w"),
            UserMessage(
                content=(Text(ERASED),),
                at=1,
                provenance=replace(THEIRS, principal=EVE.stand_in, source_session=None),
            ),
        ),
        (
            UserMessage(content=(Text("w"),), at=1, provenance=OTHERS),
            UserMessage(content=(Text(ERASED),), at=1, provenance=replace(OTHERS, source_session=None)),
        ),
        (
            AssistantMessage(
                content=(Thinking(thinking="w"), Text("w"), ToolCall(id="c", name="n", arguments={"a": "w"})),
                at=1,
                usage=Usage(input=5),
                error="w",
            ),
            AssistantMessage(
                content=(Text(ERASED), ToolCall(id="c", name="n", arguments={})),
                at=1,
                usage=Usage(input=5),
                error=ERASED,
            ),
        ),
        (
            ToolResult(call_id="c", tool="n", content=(Text("w"),), at=1, details={"a": "w"}),
            ToolResult(call_id="c", tool="n", content=(Text(ERASED),), at=1),
        ),
        (
            Compaction(summary="w", first_kept_id="k", tokens_before=2, at=1),
            Compaction(summary=ERASED, first_kept_id="k", tokens_before=2, at=1),
        ),
        (Notice(kind="n", at=1, data={"a": "w"}), Notice(kind="n", at=1, data={})),
    ],
)
def test_an_entry_loses_its_words_and_keeps_its_place(body: Body, kept: Body) -> None:
    assert blanked(body, EVE) == kept
