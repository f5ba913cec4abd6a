from roost.core.deliveries import DeliveryState


def test_an_uncertain_delivery_is_not_settled() -> None:
    settled = {state for state in DeliveryState if state.settled}
    assert settled == {DeliveryState.CONFIRMED, DeliveryState.FAILED, DeliveryState.DISMISSED}


def test_only_what_failed_is_uncertain_or_was_given_up_is_decided_on() -> None:
    decisions = {
        (was, becomes) for was in DeliveryState for becomes in DeliveryState if was.may_become(becomes)
    }
    ends = (DeliveryState.CONFIRMED, DeliveryState.FAILED, DeliveryState.DISMISSED, DeliveryState.INTENT)
    open_to_question = (DeliveryState.UNCERTAIN, DeliveryState.FAILED)
    assert decisions == {(was, end) for was in open_to_question for end in ends} | {
        (DeliveryState.DISMISSED, DeliveryState.INTENT)
    }
