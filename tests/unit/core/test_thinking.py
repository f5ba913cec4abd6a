from dataclasses import replace

from roost.core.thinking import ThinkingLevel, levels
from tests.asking import SPEC


def test_a_model_that_does_not_reason_can_only_be_left_alone() -> None:
    assert levels(SPEC) == (ThinkingLevel.OFF,)
    assert levels(replace(SPEC, reasoning=True)) == tuple(ThinkingLevel)
