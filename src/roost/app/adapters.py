"""A provider of the configuration, reached in its own way."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from anyio import to_thread

from roost.config.providers import ModelApi, ModelDefinition, Provider, ProviderAuth, thaw
from roost.config.secretfields import SecretCommand
from roost.core.errors import ConfigInvalid
from roost.core.jsonvalue import as_object
from roost.core.secrets import Secret
from roost.models.endpoints import IDLE_MS, OPENAI_URL, Endpoint, KeyAs
from roost.models.openai_wire import dialect_of
from roost.ports import Clock

if TYPE_CHECKING:
    from roost.models.library.model import HostedModel, Wire
    from roost.models.openai import OpenAIModel


HostedApi: TypeAlias = Literal[
    ModelApi.OPENAI_RESPONSES, ModelApi.ANTHROPIC_MESSAGES, ModelApi.GOOGLE_GENERATIVE_AI, ModelApi.OLLAMA
]


async def adapter_of(
    name: str, provider: Provider, own: ModelDefinition | None, clock: Clock
) -> "OpenAIModel | HostedModel":
    api = (own.api if own else None) or provider.api
    if api is ModelApi.OPENAI_COMPLETIONS:
        from roost.models.openai import OpenAIModel  # noqa: PLC0415 — a client that only those load who call

        endpoint = _endpoint(name, provider, own, OPENAI_URL)
        compat = as_object(thaw(own.compat)) if own else {}
        return OpenAIModel(endpoint, clock, dialect_of(endpoint.base_url, compat))
    if find_spec("pydantic_ai") is None:
        raise ConfigInvalid(
            f"models.providers.{name} speaks `{api}`, which needs a part that is not installed",
            hint="pip install 'roost[providers]'",
        )
    # In a thread: a library takes seconds to load, and a lease must be renewed meanwhile.
    wire = await to_thread.run_sync(_wire, api)
    from roost.models.library.model import HostedModel  # noqa: PLC0415 — takes longer to load than all else

    return HostedModel(_endpoint(name, provider, own, wire.base_url), clock, wire)


def _wire(api: HostedApi) -> "Wire":
    """Each brings a library of its provider's, which only those load who need it."""
    match api:
        case ModelApi.OPENAI_RESPONSES:
            from roost.models.library.responses import RESPONSES  # noqa: PLC0415 — see above

            return RESPONSES
        case ModelApi.ANTHROPIC_MESSAGES:
            from roost.models.library.anthropic import ANTHROPIC  # noqa: PLC0415 — see above

            return ANTHROPIC
        case ModelApi.GOOGLE_GENERATIVE_AI:
            from roost.models.library.google import GOOGLE  # noqa: PLC0415 — see above

            return GOOGLE
        case ModelApi.OLLAMA:
            from roost.models.library.ollama import OLLAMA  # noqa: PLC0415 — see above

            return OLLAMA
        case _:
            assert_never(api)


def _endpoint(name: str, provider: Provider, own: ModelDefinition | None, usual: str) -> Endpoint:
    bearer = provider.auth_header or provider.auth is ProviderAuth.TOKEN
    headers = {**provider.headers, **(own.headers if own else {})}
    params = {**as_object(thaw(provider.params)), **as_object(thaw(own.params) if own else {})}
    return Endpoint(
        provider=name,
        base_url=provider.base_url or usual,
        key=_known(provider.api_key) if provider.api_key else None,
        key_as=KeyAs.BEARER if bearer else KeyAs.NATIVE,
        headers={header: _known(secret) for header, secret in headers.items()},
        params=params,
        idle_ms=1000 * provider.timeout_seconds if provider.timeout_seconds else IDLE_MS,
    )


def _known(secret: Secret | SecretCommand) -> Secret:
    assert isinstance(secret, Secret), "programs that print credentials were run before"
    return secret
