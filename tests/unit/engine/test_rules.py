from roost.core.admission import ChannelPolicy, DmPolicy
from tests.unit.engine.scenes import Scene


def test_a_channel_without_a_door_lets_in_nobody_but_by_pairing() -> None:
    assert Scene().rules.door("telegram") == ChannelPolicy(dm_policy=DmPolicy.PAIRING)
