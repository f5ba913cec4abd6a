from dataclasses import replace

from roost.core.thinking import Level, levels
from tests.asking import SPEC


def test_a_model_that_does_not_reason_can_only_be_left_alone() -> None:
    assert levels(SPEC) == (Level.OFF,)
    assert levels(replace(SPEC, reasoning=True)) == tuple(Level)
