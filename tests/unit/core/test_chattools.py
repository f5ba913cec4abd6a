"""The stage of the tool policy that goes by the chat."""

import pytest

from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.chattools import Chat, ChatTools, chat_of, scopes
from roost.core.identities import Identity, IdentityLink, Naming, person_of
from roost.core.principals import OWNER, Principal, PrincipalKind, node, person
from roost.core.runs import Request
from roost.core.sessions import Facts, SessionKind
from roost.core.toolpolicy import ToolRules
from tests import samples

ROOM, BOSS, BOB, REST = (ToolRules(deny=(name,)) for name in ("room", "boss", "bob", "rest"))
LEVEL = ChatTools(tools=ROOM, by_sender={"owner": BOSS, "2": BOB, "*": REST})
SEVERAL = Principal(PrincipalKind.AGENT, "main")
LINKS = (IdentityLink(name="Bob", members=("telegram:7", "slack:U2")),)


def said_of(speaker: Principal, channel: str, **by_sender: ToolRules) -> tuple[ToolRules, ...]:
    naming = Naming(channel=channel, links=LINKS, traits=KNOWN_CHANNELS)
    (_, *said) = scopes((ChatTools(by_sender=by_sender),), speaker, naming)
    return tuple(said)


def admitted(channel: str, native_id: str) -> Principal:
    return person_of(Identity(channel=channel, id=native_id), LINKS, KNOWN_CHANNELS)


@pytest.mark.parametrize(
    ("speaker", "said"),
    [
        (OWNER, (BOSS,)),
        (person("telegram", "2"), (BOB,)),
        (person("telegram", "3"), (REST,)),
        (SEVERAL, (BOSS, BOB, REST)),
    ],
)
def test_what_is_said_of_who_speaks_comes_after_what_is_said_of_the_chat(
    speaker: Principal, said: tuple[ToolRules, ...]
) -> None:
    assert scopes((LEVEL,), speaker, Naming(channel="telegram", links=(), traits=KNOWN_CHANNELS)) == (
        ROOM,
        *said,
    )


def test_a_sender_may_be_named_with_the_channel_and_need_not_be_named() -> None:
    assert said_of(person("telegram", "2"), "telegram", **{"telegram:2": BOB}) == (BOB,)
    assert said_of(person("discord", "2"), "discord", **{"telegram:2": BOB}) == ()
    assert said_of(person("telegram", "2"), "telegram") == ()


@pytest.mark.parametrize("entry", ["U024BE7LH", "u024be7lh", "Slack:U024BE7LH", " U024BE7LH "])
def test_a_sender_is_named_in_whatever_case_the_channel_shows_ids(entry: str) -> None:
    assert said_of(admitted("slack", "U024BE7LH"), "slack", **{entry: BOB, "*": REST}) == (BOB,)


def test_ids_that_differ_by_case_are_two_people_where_the_channel_says_so() -> None:
    speaker = admitted("matrix", "@Ann:x.org")
    assert said_of(speaker, "matrix", **{"@Ann:x.org": BOB, "@ann:x.org": BOSS, "*": REST}) == (BOB,)


@pytest.mark.parametrize("entry", ["7", "telegram:7", "slack:u2", "bob", " Bob"])
def test_a_linked_person_is_named_by_every_id_of_theirs_and_by_their_name(entry: str) -> None:
    assert said_of(admitted("telegram", "7"), "telegram", **{entry: BOB, "*": REST}) == (BOB,)


def test_who_was_linked_after_they_spoke_is_named_all_the_same() -> None:
    assert said_of(person("telegram", "7"), "telegram", bob=BOB) == (BOB,)
    assert said_of(person("telegram", "7"), "telegram", **{"7": BOB}) == (BOB,)


def test_of_several_entries_that_mean_one_person_all_hold() -> None:
    said = said_of(admitted("telegram", "7"), "telegram", **{"7": BOSS, "bob": BOB, "*": REST})
    assert said == (BOSS, BOB)


@pytest.mark.parametrize("name", ["Bob", "Owner"])
def test_an_id_that_spells_the_name_of_another_lifts_nothing(name: str) -> None:
    said = said_of(admitted("irc", name), "irc", **{name.lower(): BOB, "*": REST})
    assert said == (BOB, REST)
    assert said_of(admitted("irc", name), "irc", **{f"irc:{name}": BOB, "*": REST}) == (BOB,)


def test_the_owner_is_named_in_any_case_and_by_no_id() -> None:
    assert said_of(OWNER, "telegram", Owner=BOSS, **{"7": BOB, "*": REST}) == (BOSS,)
    assert said_of(OWNER, "telegram", **{"7": BOB, "*": REST}) == (REST,)


def test_a_node_is_named_by_its_id_and_everybody_by_a_star_with_blanks() -> None:
    assert said_of(node("Dev"), "telegram", Dev=BOB, **{"*": REST}) == (BOB,)
    assert said_of(node("dev"), "telegram", bob=BOB, **{" * ": REST}) == (REST,)


def test_the_chat_is_where_a_run_answers_or_where_its_session_belongs() -> None:
    group = samples.session(samples.GROUP, facts=samples.GROUP_FACTS)
    here = samples.run("r", request=Request(reply_to=samples.OTHER_CHAT))
    nowhere = samples.run("r", request=Request())
    assert chat_of(group, here) == Chat("discord", "default", "9")
    assert chat_of(group, nowhere) == Chat("telegram", "default", "-100")
    assert chat_of(group._replace(facts=Facts(kind=SessionKind.OTHER)), nowhere) is None
