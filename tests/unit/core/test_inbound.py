from roost.core.addresses import DEFAULT_ACCOUNT
from roost.core.inbound import InboundState, InputMode, Source
from tests import samples


def test_messages_of_unnamed_accounts_are_told_apart_by_channel_and_id_alone() -> None:
    assert Source(channel="telegram", external_id="7").account == DEFAULT_ACCOUNT
    assert Source(channel="telegram", external_id="7") != Source(channel="discord", external_id="7")


def test_a_record_says_which_run_a_pending_message_waits_for() -> None:
    record = samples.pending(samples.inbound(), "r1", InputMode.STEER)
    assert (record.state, record.run_id, record.mode) == (InboundState.PENDING, "r1", InputMode.STEER)
