from roost.core.deliveries import DeliveryState


def test_an_uncertain_delivery_is_not_settled() -> None:
    settled = {state for state in DeliveryState if state.settled}
    assert settled == {DeliveryState.CONFIRMED, DeliveryState.FAILED, DeliveryState.DISMISSED}
