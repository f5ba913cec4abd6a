from dataclasses import replace

from roost.core.addresses import DEFAULT_ACCOUNT
from roost.core.inbound import InboundState, InputMode, Source
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
