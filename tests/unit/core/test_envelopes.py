"""Envelopes: what a message says of its chat, and what is remembered of it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from roost.core.addresses import Address, ChatType, Origin
from roost.core.envelopes import (
    Conversation,
    Envelope,
    Sender,
    answer_to,
    labels_of,
    merge_labels,
    merge_origin,
    origin_of,
    reply_address,
)
from roost.core.errors import InvalidInput
from roost.core.sessions import Labels

DIRECT = Envelope(
    channel="telegram",
    sender=Sender(id="123", name="Ann"),
    conversation=Conversation(chat_type=ChatType.DIRECT, peer="123"),
    text="hi",
)
GROUP = Envelope(
    channel="telegram",
    account="work",
    sender=Sender(id="123", name="Ann"),
    conversation=Conversation(chat_type=ChatType.GROUP, peer="-100", topic="42", subject="Family"),
    text="hi",
    surface="bot-api",
    raw_from="telegram:group:-100",
    raw_to="telegram:-100",
)


def in_channel(**names: str) -> Envelope:
    conversation = Conversation(
        chat_type=ChatType.CHANNEL,
        peer="C1",
        subject=names.get("subject"),
        room=names.get("room"),
        space=names.get("space"),
        label=names.get("label"),
    )
    return replace(DIRECT, channel="slack", conversation=conversation)


@pytest.mark.parametrize("name", ["", " telegram", "Telegram"])
def test_a_channel_or_account_is_named_in_one_spelling_only(name: str) -> None:
    with pytest.raises(InvalidInput):
        replace(DIRECT, channel=name)
    with pytest.raises(InvalidInput):
        replace(DIRECT, account=name)


@pytest.mark.parametrize("chat_type", [ChatType.DIRECT, ChatType.CHANNEL])
def test_only_a_group_has_topics(chat_type: ChatType) -> None:
    with pytest.raises(InvalidInput):
        Conversation(chat_type=chat_type, peer="1", topic="42")


@pytest.mark.requirement("P7")
def test_the_answer_goes_to_the_chat_the_message_came_from() -> None:
    assert reply_address(DIRECT) == Address(channel="telegram", to="123")
    assert reply_address(GROUP) == Address(channel="telegram", to="-100", account="work", thread="42")
    threaded = replace(
        in_channel(), conversation=Conversation(chat_type=ChatType.CHANNEL, peer="C1", thread="1.2")
    )
    assert reply_address(threaded) == Address(channel="slack", to="C1", thread="1.2")


def test_a_direct_chat_without_an_id_is_that_of_its_sender_and_a_group_without_one_is_nowhere() -> None:
    unnamed = replace(DIRECT, conversation=Conversation(chat_type=ChatType.DIRECT))
    assert unnamed.place == "123"
    assert replace(unnamed, sender=Sender(id="")).place is None
    assert reply_address(replace(unnamed, sender=Sender())) is None
    assert reply_address(replace(GROUP, conversation=Conversation(chat_type=ChatType.GROUP, peer=""))) is None


@pytest.mark.requirement("D53")
def test_the_origin_tells_where_a_message_came_from() -> None:
    assert origin_of(GROUP) == Origin(
        label="Family",
        provider="telegram",
        surface="bot-api",
        chat_type=ChatType.GROUP,
        sender="telegram:group:-100",
        to="telegram:-100",
        account="work",
        thread="42",
    )
    assert origin_of(DIRECT) == Origin(
        provider="telegram", chat_type=ChatType.DIRECT, sender="123", to="123", account="default"
    )


@pytest.mark.parametrize(
    ("names", "label"),
    [
        ({"label": "Ops room", "subject": "Ops", "room": "#ops"}, "Ops room"),
        ({"subject": "Ops", "room": "#ops"}, "Ops"),
        ({"room": "#ops"}, "#ops"),
        ({}, None),
    ],
)
def test_the_label_of_an_origin_is_the_best_name_there_is(names: dict[str, str], label: str | None) -> None:
    assert origin_of(in_channel(**names)).label == label


@pytest.mark.requirement("D53")
def test_a_later_message_adds_to_the_origin_and_takes_nothing_away() -> None:
    first = origin_of(GROUP)
    later = Origin(provider="telegram", account="work", label="Family 2", thread=None)
    assert merge_origin(first, later) == replace(first, label="Family 2")
    assert merge_origin(Origin(), first) == first
    assert merge_origin(first, replace(first)) is first


@pytest.mark.parametrize(
    "moved",
    [
        Origin(provider="discord", account="work"),
        Origin(provider="telegram", surface="web", account="work"),
        Origin(provider="telegram", account="home"),
    ],
)
def test_an_origin_that_moved_keeps_no_id_of_the_place_it_left(moved: Origin) -> None:
    merged = merge_origin(origin_of(GROUP), moved)
    assert (merged.sender, merged.to, merged.thread) == (None, None, None)
    assert (merged.provider, merged.account, merged.label) == (moved.provider, moved.account, "Family")


def test_a_look_from_the_web_page_leaves_the_ids_of_the_chat() -> None:
    merged = merge_origin(origin_of(GROUP), Origin(provider="webchat"))
    assert (merged.provider, merged.to, merged.thread) == ("webchat", "telegram:-100", "42")


@pytest.mark.requirement("D38")
@pytest.mark.parametrize(
    ("envelope", "labels"),
    [
        (DIRECT, Labels(display_name="Ann")),
        (GROUP, Labels(display_name="Family", subject="Family")),
        (in_channel(subject="#ops", space="Acme"), Labels(display_name="#ops", room="#ops", space="Acme")),
        (in_channel(subject="Ops", room="#ops"), Labels(display_name="#ops", room="#ops")),
        (in_channel(subject="Ops", label="Ops @ Acme"), Labels(display_name="Ops @ Acme", subject="Ops")),
        (in_channel(), Labels()),
        (
            replace(GROUP, conversation=Conversation(chat_type=ChatType.GROUP, peer="1", subject="#1 fans")),
            Labels(display_name="#1 fans", subject="#1 fans"),
        ),
    ],
)
def test_a_group_is_called_by_its_subject_or_its_room_never_both(envelope: Envelope, labels: Labels) -> None:
    assert labels_of(envelope) == labels


HALF = "a\ud83d"


@pytest.mark.requirement("P3")
def test_half_a_character_in_what_was_said_is_repaired_and_the_rest_is_kept() -> None:
    sender = Sender(id="123", name=HALF)
    conversation = Conversation(
        chat_type=ChatType.GROUP, peer="-100", label=HALF, thread_label=HALF, subject=HALF, space=HALF
    )
    whole = "a\N{REPLACEMENT CHARACTER}"
    assert sender.name == whole
    assert conversation == replace(conversation, label=whole, thread_label=whole, subject=whole, space=whole)
    broken = replace(DIRECT, text=f"{HALF} 😀", surface=HALF, raw_from=HALF, raw_to=HALF)
    assert (broken.text, broken.surface, broken.raw_from, broken.raw_to) == (
        f"{whole} 😀",
        whole,
        whole,
        whole,
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sender(id=HALF),
        lambda: replace(GROUP.conversation, peer=HALF),
        lambda: replace(GROUP.conversation, thread=HALF),
        lambda: replace(GROUP.conversation, topic=HALF),
        lambda: replace(GROUP.conversation, parent=HALF),
        lambda: replace(GROUP.conversation, guild=HALF),
        lambda: replace(GROUP.conversation, team=HALF),
        lambda: replace(DIRECT, channel=HALF),
        lambda: replace(DIRECT, account=HALF),
        lambda: replace(DIRECT, external_id=HALF),
    ],
)
def test_an_id_with_half_a_character_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match="half a character"):
        make()


def test_a_direct_chat_that_has_an_id_of_its_own_says_who_writes_there() -> None:
    room = replace(DIRECT, conversation=Conversation(chat_type=ChatType.DIRECT, peer="D7"))
    for message, person in ((room, room.sender.id), (DIRECT, None), (GROUP, None)):
        address = reply_address(message)
        assert address is not None
        assert address.person == person
        assert (answer_to(address).sender.id, answer_to(address).place) == (person or address.to, address.to)


def test_an_answer_comes_from_the_place_itself() -> None:
    envelope = answer_to(Address(channel="telegram", to="7", account="work", thread="t"))
    assert (envelope.channel, envelope.account, envelope.sender.id, envelope.place) == (
        "telegram",
        "work",
        "7",
        "7",
    )
    assert envelope.conversation.thread == "t"


@pytest.mark.requirement("D38")
@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (Labels(), Labels(label="l", display_name="A", subject="A", space="S")),
        (Labels(display_name="B", subject="B"), Labels(label="l", display_name="B", subject="B", space="S")),
        (Labels(display_name="#c", room="#c"), Labels(label="l", display_name="#c", room="#c", space="S")),
        (Labels(space="T"), Labels(label="l", display_name="A", subject="A", space="T")),
    ],
)
def test_a_chat_is_called_by_its_newest_names(new: Labels, expected: Labels) -> None:
    assert merge_labels(Labels(label="l", display_name="A", subject="A", space="S"), new) == expected
    assert merge_labels(Labels(room="#c"), Labels(subject="B")) == Labels(subject="B")
