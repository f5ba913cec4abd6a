import pytest

from roost.core.addresses import Account, Address, ChatType
from roost.core.deliveries import DeliveryKind
from roost.core.effects import AddDelivery, AppendEntries
from roost.core.errors import InvalidInput
from roost.core.letters import Letter, Unsendable, chosen, is_held_at, post
from roost.core.messages import AssistantMessage, text_of
from roost.core.occasions import WEBHOOK
from roost.core.principals import OWNER, person
from roost.core.sendpolicy import SendAction, SendMatch, SendPolicy, SendRule
from roost.core.sessions import Session
from roost.core.snapshots import Snapshot
from roost.testing import builders
from tests import samples

TELEGRAM, SLACK, WEB = Account("telegram"), Account("slack"), Account(WEBHOOK)
WORK = Account("telegram", "work")
NO_GROUPS = SendPolicy(rules=(SendRule(action=SendAction.DENY, match=SendMatch(chat_type=ChatType.GROUP)),))


def letter(text: str = "hello", to: Address = samples.CHAT) -> Letter:
    return Letter(name="n", by=OWNER, to=to, text=text, at=samples.NOON)


def found(session: Session | None = None) -> Snapshot:
    return Snapshot(key=samples.MAIN, session=session)


OPENING = builders.opening(samples.session(), "s1")


def test_a_letter_opens_its_session_stands_in_it_and_goes_out() -> None:
    opening, said, sent = post(found(), letter(), OPENING, None)
    assert opening == OPENING
    assert isinstance(said, AppendEntries)
    (draft,) = said.drafts
    assert isinstance(draft.body, AssistantMessage)
    assert text_of(draft.body) == "hello"
    assert isinstance(sent, AddDelivery)
    assert (sent.delivery.kind, sent.delivery.address) == (DeliveryKind.LETTER, samples.CHAT)


def test_a_session_that_is_there_is_not_opened_again() -> None:
    said, sent = post(found(samples.session()), letter(), OPENING, None)
    assert (type(said), type(sent)) == (AppendEntries, AddDelivery)


def test_a_letter_is_the_same_for_its_sender_and_its_name_alone() -> None:
    assert letter("one").id == letter("two").id
    theirs = Letter(name="n", by=person("telegram", "7"), to=samples.CHAT, text="one", at=1)
    assert theirs.id != letter("one").id


def test_a_letter_without_words_is_none() -> None:
    with pytest.raises(InvalidInput, match="without words"):
        letter(" \n")


@pytest.mark.requirement("D20")
def test_what_the_send_policy_keeps_back_is_not_written() -> None:
    group = samples.session(samples.GROUP, facts=samples.GROUP_FACTS)
    with pytest.raises(Unsendable, match=r"session.sendPolicy.rules\[0\]") as kept:
        post(found(group), letter(), OPENING, NO_GROUPS)
    assert kept.value.rule == "session.sendPolicy.rules[0]"


@pytest.mark.parametrize(
    ("there", "channel", "account", "meant"),
    [
        ((TELEGRAM, WEB), None, None, TELEGRAM),
        ((TELEGRAM, SLACK), "slack", None, SLACK),
        ((TELEGRAM, WORK), "telegram", "work", WORK),
        ((TELEGRAM, WORK), None, "work", WORK),
        ((TELEGRAM, WEB), WEBHOOK, None, WEB),
    ],
)
def test_a_channel_that_is_not_named_is_the_only_one(
    there: tuple[Account, ...], channel: str | None, account: str | None, meant: Account
) -> None:
    assert chosen(there, channel, account) == meant


@pytest.mark.parametrize(
    ("there", "channel", "account", "words"),
    [
        ((TELEGRAM, SLACK), None, None, "several channels could be meant .*slack, telegram"),
        ((TELEGRAM, WORK), "telegram", None, "several channels could be meant"),
        ((WEB,), None, None, "no channel is given .*webhook"),
        ((), None, None, "no channel is given .*none"),
        ((TELEGRAM,), "slack", "work", "there is no channel slack/work"),
    ],
)
def test_a_channel_that_could_be_any_or_none_is_asked_for(
    there: tuple[Account, ...], channel: str | None, account: str | None, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        chosen(there, channel, account)


def test_a_room_is_known_by_its_place_whichever_account_is_in_it_and_a_direct_chat_is_routed() -> None:
    room = samples.session(samples.GROUP, facts=samples.GROUP_FACTS._replace(account="work"))
    assert is_held_at(room, Address(channel="telegram", to="-100"))
    direct = samples.session(facts=samples.DIRECT_FACTS._replace(account="work"))
    assert not is_held_at(direct, Address(channel="telegram", to="1", account="work"))
    assert not is_held_at(room, Address(channel="telegram", to="-200"))
