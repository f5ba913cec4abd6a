from itertools import pairwise

import pytest

from roost.core.catalogue import Catalogue
from roost.core.models import FailureKind, ModelFailed, ModelRef, ModelRequest, ModelSpec
from roost.models.registry import Registry
from roost.ports import Model
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Fail, Say, Script


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


class Renewal:
    """Has the credential of a provider anew, by replacing its registry."""

    def __init__(self, old: Registry, newer: Registry | None) -> None:
        self.times = 0
        self._old, self._newer = old, newer

    async def renew(self) -> None:
        self.times += 1
        if self._newer is not None:
            self._old.replaced_by(self._newer)
            self._newer.renewed_by(self.renew, frozenset({"local"}))


def registry_of(*scripts: Script) -> tuple[Registry, ScriptedModel]:
    model = ScriptedModel(*scripts)
    return Registry(Catalogue([spec("a")]), {"local": model}, {}), model


@pytest.mark.parametrize("providers", [frozenset({"local"}), frozenset({"other"})])
async def test_a_refused_credential_is_had_anew_once_where_it_can_be(providers: frozenset[str]) -> None:
    old, _ = registry_of((Fail(FailureKind.AUTH),))
    newer, after = registry_of((Say("yes"),))
    renewal = Renewal(old, newer)
    old.renewed_by(renewal.renew, providers)
    if "local" in providers:
        await asked(old.model(spec("a")), "a")
    else:
        with pytest.raises(ModelFailed):
            await asked(old.model(spec("a")), "a")
    assert (renewal.times, len(after.requests)) == ((1, 1) if "local" in providers else (0, 0))


@pytest.mark.parametrize(
    ("kind", "newer", "times"),
    [
        (FailureKind.AUTH, (Fail(FailureKind.AUTH),), 1),
        (FailureKind.AUTH, None, 1),
        (FailureKind.TRANSIENT, (Say("yes"),), 0),
    ],
)
async def test_a_call_is_made_again_only_by_another_credential_and_only_once(
    kind: FailureKind, newer: Script | None, times: int
) -> None:
    old, _ = registry_of((Fail(kind),))
    renewal = Renewal(old, registry_of(newer)[0] if newer else None)
    old.renewed_by(renewal.renew, frozenset({"local"}))
    model = old.model(spec("a"))
    with pytest.raises(ModelFailed):
        await asked(model, "a")
    assert renewal.times == times
