from dataclasses import replace

import pytest

from roost.core.addresses import DEFAULT_ACCOUNT
from roost.core.errors import KeyTaken
from roost.core.inbound import InboundState, InputMode, Source, digest_of, refuse_other
from roost.core.messages import Image, Text
from roost.testing import builders
from tests import samples


def test_messages_of_unnamed_accounts_are_told_apart_by_channel_and_id_alone() -> None:
    assert Source(channel="telegram", external_id="7").account == DEFAULT_ACCOUNT
    assert Source(channel="telegram", external_id="7") != Source(channel="discord", external_id="7")


def test_a_record_says_which_run_a_pending_message_waits_for() -> None:
    record = samples.pending(samples.inbound(), "r1", InputMode.STEER)
    assert (record.state, record.run_id, record.mode) == (InboundState.PENDING, "r1", InputMode.STEER)


def test_a_message_that_is_reworded_keeps_what_came_with_it() -> None:
    picture = Image(mime="image/png", data="aGk=")
    message = replace(builders.inbound("m"), content=(Text("/new look"), picture, Text("at this")))
    assert message.reworded("look at this").content == (Text("look at this"), picture)
    assert message.reworded("").content == (picture,)


@pytest.mark.requirement("P3")
def test_what_was_given_is_known_again_by_its_words_and_where_they_end() -> None:
    assert digest_of("one", "two") == digest_of("one", "two")
    others = (("one", "tw"), ("onet", "wo"), ("one", "two", ""), ("onetwo",), ("one", "\ud800"), ())
    assert len({digest_of("one", "two"), *(digest_of(*other) for other in others)}) == len(others) + 1


def test_only_what_is_known_of_both_can_be_another() -> None:
    for kept, given in (("a", "a"), (None, "a"), ("a", None), (None, None)):
        refuse_other(kept, given)
    with pytest.raises(KeyTaken):
        refuse_other("a", "b")
