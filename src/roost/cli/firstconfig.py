"""What a first configuration says, from a few choices. A key is never part of it: only where the key is kept."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from roost.config.providers import ModelApi
from roost.config.settings import Settings
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.scopes import DmScope

CREDENTIALS = "credentials"
RECOMMENDED = DmScope.OWNER_MAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A provider whose ways are known. `model` is one of its models, to begin with."""

    api: ModelApi
    variable: str | None = None
    model: str = ""


PROVIDERS: Mapping[str, Known] = MappingProxyType(
    {
        "anthropic": Known(
            api=ModelApi.ANTHROPIC_MESSAGES, variable="ANTHROPIC_API_KEY", model="claude-sonnet-4-5"
        ),
        "openai": Known(api=ModelApi.OPENAI_COMPLETIONS, variable="OPENAI_API_KEY", model="gpt-5"),
        "google": Known(api=ModelApi.GOOGLE_GENERATIVE_AI, variable="GEMINI_API_KEY", model="gemini-2.5-pro"),
        "ollama": Known(api=ModelApi.OLLAMA),
    }
)
ELSEWHERE = Known(api=ModelApi.OPENAI_COMPLETIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """`key` is a reference to where the key is kept; `base_url` is needed for a provider that is not known."""

    provider: str
    name: str
    key: JsonObject | None = None
    base_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """None leaves things as they are. `owner` is who the owner is on channels, as `channel:id`."""

    model: Model | None = None
    dm_scope: DmScope | None = None
    owner: tuple[str, ...] = field(default=())


Setting = tuple[list[str], JsonValue]


def has_model(settings: Settings) -> bool:
    return settings.agents.default.model.primary is not None


def has_scope(settings: Settings) -> bool:
    return "dm_scope" in settings.session.model_fields_set


def usual_provider(environ: Mapping[str, str]) -> str | None:
    """The one whose key is in the environment."""
    return next((name for name, known in PROVIDERS.items() if known.variable in environ), None)


def key_file(home: Path, provider: str) -> Path:
    return home / CREDENTIALS / f"{provider}.key"


def settings_of(choices: Choices, present: Settings) -> Iterator[Setting]:
    """Paths and values; lists go on from what they hold."""
    if choices.model is not None:
        model = choices.model
        yield ["models", "providers", model.provider], _provider(model)
        yield ["agents", "defaults", "model"], f"{model.provider}/{model.name}"
    if choices.dm_scope is not None:
        yield ["session", "dmScope"], str(choices.dm_scope)
    if choices.owner:
        yield from _channels(choices.owner, present)


def _provider(model: Model) -> JsonObject:
    known = PROVIDERS.get(model.provider, ELSEWHERE)
    if model.provider not in PROVIDERS and model.base_url is None:
        raise InvalidInput(
            f"where {model.provider} is reached is not known",
            hint=f"give --base-url, or one of {', '.join(PROVIDERS)}",
        )
    written: dict[str, JsonValue] = {"api": str(known.api)}
    if model.base_url is not None:
        written["baseUrl"] = model.base_url
    if model.key is not None:
        written["apiKey"] = model.key
    return written


def _channels(owner: tuple[str, ...], present: Settings) -> Iterator[Setting]:
    by_channel: dict[str, list[str]] = {}
    for one in owner:
        channel, colon, person = one.partition(":")
        if not colon or not channel or not person:
            raise InvalidInput(f"{one!r} does not say who that is where", hint="write telegram:12345")
        by_channel.setdefault(channel.lower(), []).append(person)
    for channel, people in by_channel.items():
        known = present.channels.get(channel)
        listed = [*(known.allow_from if known else ()), *people]
        yield ["channels", channel, "allowFrom"], list(dict.fromkeys(listed))
    owners = [*(present.commands.owner_allow_from or ()), *owner]
    yield ["commands", "ownerAllowFrom"], list(dict.fromkeys(owners))
