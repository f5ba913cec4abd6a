import pytest

from roost.config.frozen import FrozenMap
from roost.config.providers import InputKind, ModelApi
from roost.config.settings import as_document
from roost.core.secrets import Secret
from tests.unit.config.given import refused, settings


def test_a_provider_loads_with_all_its_keys() -> None:
    provider = settings(
        """
        { models: { mode: "merge", providers: { "my.proxy": {
          baseUrl: "https://proxy.example:4000/v1", apiKey: "k", auth: "api-key", api: "anthropic-messages",
          authHeader: true, headers: { "X-Team": "blue" }, timeoutSeconds: 60, contextWindow: 8000,
          models: [{ id: "m", name: "M", reasoning: false, input: ["text", "image"], contextWindow: 128000,
            contextTokens: 96000, maxTokens: 32000, cost: { input: 0.5, output: 1, cacheRead: 0, cacheWrite: 0 },
            compat: { supportsStore: false, list: [1, { a: "b" }] }, params: { temperature: 0.2 } }],
        } } } }
        """
    ).models.providers["my.proxy"]
    assert provider.api is ModelApi.ANTHROPIC_MESSAGES
    assert provider.headers["X-Team"] == Secret("blue")
    [model] = provider.models
    assert model.input == (InputKind.TEXT, InputKind.IMAGE)
    assert model.cost is not None
    assert (model.cost.input, model.cost.output) == (0.5, 1.0)
    assert model.compat == {"supportsStore": False, "list": (1, FrozenMap({"a": "b"}))}


def test_free_parameters_are_written_as_they_were_given() -> None:
    compat = {"a": [1, {"b": "c"}], "d": 2.5, "e": True}
    given = settings({"models": {"providers": {"p": {"models": [{"id": "m", "compat": compat}]}}}})
    assert as_document(given)["models"]["providers"]["p"]["models"][0]["compat"] == compat  # type: ignore[call-overload,index]


def test_free_parameters_are_an_object_and_cannot_be_changed() -> None:
    assert "models.providers.p.params" in refused({"models": {"providers": {"p": {"params": ["x"]}}}})
    params = (
        settings({"models": {"providers": {"p": {"params": {"a": {"b": 1}}}}}}).models.providers["p"].params
    )
    with pytest.raises(TypeError):
        params["a"] = 1  # type: ignore[index]
    assert hash(params) == hash(FrozenMap({"a": FrozenMap({"b": 1})}))


def test_a_price_that_is_not_given_is_unknown_not_zero() -> None:
    given = settings({"models": {"providers": {"p": {"models": [{"id": "m"}]}}}})
    assert given.models.providers["p"].models[0].cost is None


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://user:pw@host/v1", "http://h/v1?key=1", "host/v1", "http://a b"]
)
def test_an_address_without_its_scheme_or_with_a_credential_is_refused(url: str) -> None:
    assert "models.providers.p.baseUrl" in refused({"models": {"providers": {"p": {"baseUrl": url}}}})


def test_an_unknown_wire_format_is_refused_with_the_nearest() -> None:
    problem = refused({"models": {"providers": {"p": {"api": "openai-completion"}}}})[
        "models.providers.p.api"
    ]
    assert problem.nearest == "openai-completions"
