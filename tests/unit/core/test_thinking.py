from dataclasses import replace

from roost.core.models import ModelRef, ModelSpec
from roost.core.thinking import Level, levels

SPEC = ModelSpec(ref=ModelRef("p", "m"), context_window=1, max_tokens=1)


def test_a_model_that_reasons_knows_every_level_and_any_other_none() -> None:
    assert levels(replace(SPEC, reasoning=True)) == tuple(Level)
    assert levels(SPEC) == (Level.OFF,)
