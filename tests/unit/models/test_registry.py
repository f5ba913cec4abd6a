from roost.core.catalogue import Catalogue
from roost.core.models import ModelRef, ModelSpec
from roost.models.registry import Registry
from roost.testing.scripted import ScriptedModel

USUAL, OWN = ScriptedModel(), ScriptedModel()


def spec(name: str) -> ModelSpec:
    return ModelSpec(ref=ModelRef("local", name), context_window=1000, max_tokens=100)


def test_a_model_is_reached_as_its_provider_is_unless_it_has_a_way_of_its_own() -> None:
    registry = Registry(Catalogue([spec("a"), spec("b")]), {"local": USUAL}, {ModelRef("local", "b"): OWN})
    assert registry.model(spec("a")) is USUAL
    assert registry.model(registry.catalogue.find("local/b")) is OWN
