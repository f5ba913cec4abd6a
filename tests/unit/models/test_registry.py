from itertools import pairwise

from roost.core.catalogue import Catalogue
from roost.core.models import ModelRef, ModelRequest, ModelSpec
from roost.models.registry import Registry
from roost.ports import Model
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Say


def spec(name: str) -> ModelSpec:
    return ModelSpec(ref=ModelRef("local", name), context_window=1000, max_tokens=100)


def always() -> ScriptedModel:
    return ScriptedModel(otherwise=(Say("yes"),))


async def asked(model: Model, name: str) -> None:
    async with model.stream(ModelRequest(spec=spec(name), system="", messages=())) as events:
        assert [event async for event in events]


async def test_a_model_is_reached_as_its_provider_is_unless_it_has_a_way_of_its_own() -> None:
    usual, own = always(), always()
    registry = Registry(Catalogue([spec("a"), spec("b")]), {"local": usual}, {ModelRef("local", "b"): own})
    await asked(registry.model(spec("a")), "a")
    assert (len(usual.requests), len(own.requests)) == (1, 0)
    await asked(registry.model(registry.catalogue.find("local/b")), "b")
    assert (len(usual.requests), len(own.requests)) == (1, 1)


async def test_after_changes_a_model_is_reached_in_the_newest_way_while_there_is_one() -> None:
    ways = [always(), always(), always()]
    editions = [Registry(Catalogue([spec("a")]), {"local": way}, {}) for way in ways]
    model = editions[0].model(spec("a"))
    for older, newer in pairwise(editions):
        older.replaced_by(newer)
    await asked(model, "a")
    assert [len(way.requests) for way in ways] == [0, 0, 1]
    editions[-1].replaced_by(Registry(Catalogue([]), {}, {}))
    await asked(model, "a")
    assert [len(way.requests) for way in ways] == [1, 0, 1]
