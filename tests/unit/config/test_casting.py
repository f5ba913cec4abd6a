import pytest

from roost.config.casting import catalogue, persona
from roost.core.casting import ModelChain
from roost.core.catalogue import Catalogue
from roost.core.errors import ConfigInvalid, Forbidden, NotFound
from roost.core.models import ModelRef, ModelSpec, Prices
from roost.core.thinking import ThinkingLevel
from tests.unit.config.given import settings

DEMO = ModelSpec(ref=ModelRef("demo", "demo"), context_window=1000, max_tokens=100)


def known(document: object) -> Catalogue:
    return catalogue(settings(document), DEMO)


def test_a_listed_model_is_described_by_its_own_keys_then_its_providers_then_defaults() -> None:
    found = known(
        """
        { models: { providers: { p: { contextWindow: 9000, maxTokens: 700, models: [
          { id: "full", contextWindow: 128000, contextTokens: 96000, maxTokens: 32000, reasoning: true,
            input: ["text", "image"], cost: { input: 0.5, output: 1, cacheRead: 0.1, cacheWrite: 0.6 } },
          { id: "bare" } ] }, q: { models: [{ id: "x" }] } } } }
        """
    )
    full, bare, usual = found.find("p/full"), found.find("p/bare"), found.find("q/x")
    assert full == ModelSpec(
        ref=ModelRef("p", "full"),
        context_window=96_000,
        max_tokens=32_000,
        prices=Prices(input=0.5, output=1, cache_read=0.1, cache_write=0.6),
        reasoning=True,
        images=True,
    )
    assert (bare.context_window, bare.max_tokens, bare.prices, bare.images) == (9000, 700, None, False)
    assert (usual.context_window, usual.max_tokens) == (128_000, 8_192)


def test_the_file_of_the_comparison_runs_as_it_is() -> None:
    found = known(
        """
        { agents: { defaults: { model: { primary: "fake/fake-1" } } },
          models: { providers: { fake: { baseUrl: "http://127.0.0.1:29801/v1", apiKey: "sk-local",
            api: "openai-completions", models: [{ id: "fake-1", name: "Fake", contextWindow: 1000000, maxTokens: 8192,
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }] } } } }
        """
    )
    assert found.ask_for("fake-1").prices == Prices()


def test_what_is_used_of_a_provider_without_a_list_is_listed() -> None:
    found = known(
        {
            "models": {"providers": {"Open": {}, "p": {"models": [{"id": "a"}]}}},
            "agents": {
                "list": [{"id": "one", "model": {"primary": "open/x", "fallbacks": ["p/a", "open/y"]}}]
            },
        }
    )
    assert [str(spec.ref) for spec in found.specs()] == ["demo/demo", "p/a", "Open/x", "Open/y"]


def test_the_allow_list_names_what_may_be_asked_for_and_short_names() -> None:
    found = known(
        {
            "models": {"providers": {"p": {"models": [{"id": "a"}, {"id": "b"}]}}},
            "agents": {"defaults": {"model": "p/b", "models": {"p/a": {"alias": "Best"}, "p/new": {}}}},
        }
    )
    assert found.ask_for("best").ref == found.ask_for("p/a").ref == ModelRef("p", "a")
    assert found.ask_for("p/new").ref == ModelRef("p", "new")
    with pytest.raises(Forbidden):
        found.ask_for("p/b")
    assert found.find("p/b").ref == ModelRef("p", "b")


def test_a_provider_that_lists_no_models_answers_to_any_name() -> None:
    found = known({"models": {"providers": {"local": {"contextWindow": 4096}}}})
    assert found.find("local/qwen3:8b").context_window == 4096


def test_the_built_in_model_is_there_unless_it_is_replaced() -> None:
    assert known({}).find("demo") == DEMO
    document = {
        "models": {"mode": "replace", "providers": {"p": {}}},
        "agents": {"defaults": {"model": "p/m"}},
    }
    with pytest.raises(NotFound):
        known(document).find("demo/demo")


@pytest.mark.parametrize(
    "defaults",
    [
        {"model": "p/gone"},
        {"model": {"primary": "p/a", "fallbacks": ["p/gone"]}},
        {"model": "p/a", "subagents": {"model": "p/gone"}},
    ],
)
def test_a_configured_model_that_does_not_exist_is_refused_at_load(defaults: dict[str, object]) -> None:
    with pytest.raises(ConfigInvalid, match=r"agent main: there is no model p/gone \(did you mean"):
        known(
            {
                "models": {"providers": {"p": {"models": [{"id": "gone2"}, {"id": "a"}]}}},
                "agents": {"defaults": defaults},
            }
        )


def test_an_agent_has_its_models_those_of_its_children_and_the_reason() -> None:
    document = {
        "agents": {
            "defaults": {"subagents": {"model": {"primary": "p/c", "fallbacks": ["p/d"]}, "thinking": "low"}},
            "list": [
                {"id": "a", "model": {"primary": "p/a", "fallbacks": ["p/b"]}, "heartbeat": {"model": "p/e"}},
                {"id": "none", "heartbeat": {"model": "p/e"}},
            ],
        }
    }
    providers: dict[str, object] = {"p": {}}
    assert known({**document, "models": {"providers": providers}}).find("p/e").ref == ModelRef("p", "e")
    first, second = (persona(agent, DEMO) for agent in settings(document).agents.list)
    assert first.models == ModelChain(primary="p/a", fallbacks=("p/b",))
    assert (first.reason, first.child_thinking) == ("the model of agent a", ThinkingLevel.LOW)
    assert first.child_models == ModelChain(primary="p/c", fallbacks=("p/d",))
    assert first.heartbeat_models == ModelChain(primary="p/e", fallbacks=("p/b",))
    assert second.heartbeat_models == ModelChain(primary="p/e")
    assert (second.models, second.reason) == (ModelChain(primary="demo/demo"), "no model is configured")


def test_a_model_of_summaries_or_of_a_hook_that_does_not_exist_is_told_at_once() -> None:
    for where, document in (
        ("agents.defaults.compaction.model", {"agents": {"defaults": {"compaction": {"model": "p/gone"}}}}),
        (
            "hooks.mappings.ci.model",
            {"hooks": {"enabled": True, "token": "t" * 32, "mappings": {"ci": {"model": "p/gone"}}}},
        ),
    ):
        with pytest.raises(ConfigInvalid, match=rf"{where}: there is no model p/gone"):
            known(document)
    known({"hooks": {"mappings": {"ci": {"model": "p/gone"}}}})
    fine = known({"agents": {"defaults": {"compaction": {"model": "demo/demo"}}}})
    assert fine.find("demo/demo") == DEMO
