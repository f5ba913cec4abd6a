"""`models`: where models are reached and what they cost."""

import re
from enum import StrEnum
from typing import Annotated, TypeAlias

from roost.config.amounts import SpellingError
from roost.config.frozen import FrozenMap
from roost.config.secretfields import LateCredential
from roost.config.section import Section, Takes, about
from roost.config.spelling import Flag, Positive, Price, Spelling, Text, pattern
from roost.core.jsonvalue import JsonValue

_BASE_URL = re.compile(r"https?://[^\s@?#]+", re.IGNORECASE)


class CatalogueMode(StrEnum):
    MERGE = "merge"
    REPLACE = "replace"


class ProviderAuth(StrEnum):
    API_KEY = "api-key"
    TOKEN = "token"  # noqa: S105 — a kind of credential, not one


class ModelApi(StrEnum):
    OPENAI_COMPLETIONS = "openai-completions"
    OPENAI_RESPONSES = "openai-responses"
    ANTHROPIC_MESSAGES = "anthropic-messages"
    GOOGLE_GENERATIVE_AI = "google-generative-ai"
    OLLAMA = "ollama"


class InputKind(StrEnum):
    TEXT = "text"
    IMAGE = "image"


def _freeze(found: object) -> object:
    match found:
        case dict():
            return FrozenMap({str(name): _freeze(value) for name, value in found.items()})
        case list():
            return tuple(_freeze(item) for item in found)
        case _:
            return found


def thaw(value: object) -> JsonValue:
    """A free object as it is written."""
    match value:
        case FrozenMap():
            return {name: thaw(item) for name, item in value.items()}
        case tuple():
            return [thaw(item) for item in value]
        case _:
            assert value is None or isinstance(value, bool | int | float | str)
            return value


def _object(found: object) -> object:
    if not isinstance(found, dict):
        raise SpellingError
    return _freeze(found)


BaseUrl: TypeAlias = Annotated[
    str, pattern(_BASE_URL, "`http://` or `https://` address without user or query")
]
FreeObject: TypeAlias = Annotated[FrozenMap[str, object], Spelling(_object, "object", thaw)]


class ModelCost(Section):
    input: Annotated[Price, about("Dollars per million input tokens.")] = 0.0
    output: Annotated[Price, about("Dollars per million output tokens.")] = 0.0
    cache_read: Annotated[Price, about("Dollars per million tokens read from the provider's cache.")] = 0.0
    cache_write: Annotated[Price, about("Dollars per million tokens written to it.")] = 0.0


class ModelDefinition(Section):
    id: Annotated[Text, about("The provider's name for it.")]
    name: Annotated[Text | None, about("Name to show.")] = None
    api: Annotated[ModelApi | None, about("Wire format, over the provider's.")] = None
    reasoning: Annotated[Flag, about("Whether it thinks before it answers.")] = False
    input: Annotated[tuple[InputKind, ...], about("What it takes.")] = (InputKind.TEXT,)
    cost: Annotated[ModelCost | None, about("Prices. Unset: unknown.")] = None
    context_window: Annotated[Positive | None, about("Its window in tokens.")] = None
    context_tokens: Annotated[Positive | None, about("Tokens of the window to use.")] = None
    max_tokens: Annotated[Positive | None, about("Longest answer in tokens.")] = None
    headers: Annotated[
        FrozenMap[Text, LateCredential], about("HTTP headers, kept as secrets.", Takes.AT_ONCE)
    ] = FrozenMap()
    compat: Annotated[FreeObject, about("Oddities of the endpoint, read by the adapter.")] = FrozenMap()
    params: Annotated[FreeObject, about("Extra request parameters.")] = FrozenMap()


class Provider(Section):
    base_url: Annotated[
        BaseUrl | None,
        about("Address of the endpoint, without credentials. Unset: the provider's own."),
    ] = None
    api_key: Annotated[LateCredential | None, about("Credential.", Takes.AT_ONCE)] = None
    auth: Annotated[ProviderAuth | None, about("Kind of credential.")] = None
    auth_header: Annotated[
        Flag,
        about("Whether it is sent as `Authorization: Bearer` also where the wire format has its own way."),
    ] = False
    api: Annotated[ModelApi, about("Wire format.")] = ModelApi.OPENAI_COMPLETIONS
    context_window: Annotated[Positive | None, about("Window of models that state none.")] = None
    context_tokens: Annotated[Positive | None, about("Tokens to use of models that state none.")] = None
    max_tokens: Annotated[Positive | None, about("Longest answer of models that state none.")] = None
    timeout_seconds: Annotated[Positive | None, about("Longest silence within a call. Unset: 120.")] = None
    headers: Annotated[
        FrozenMap[Text, LateCredential], about("HTTP headers, kept as secrets.", Takes.AT_ONCE)
    ] = FrozenMap()
    params: Annotated[FreeObject, about("Extra request parameters.")] = FrozenMap()
    models: Annotated[tuple[ModelDefinition, ...], about("Its models. Empty: whatever it answers to.")] = ()


class Models(Section):
    mode: Annotated[CatalogueMode, about("Whether these models join or replace the known ones.")] = (
        CatalogueMode.MERGE
    )
    providers: Annotated[FrozenMap[Text, Provider], about("Providers by name.")] = FrozenMap()
