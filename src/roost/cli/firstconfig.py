"""What a first configuration says, from a few choices. A key is never part of it: only where the key is kept."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from roost.config.providers import ModelApi
from roost.config.settings import Settings
from roost.core.admission import DmPolicy
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.scopes import DmScope

CREDENTIALS = "credentials"
_CHANNEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*", re.ASCII | re.IGNORECASE)
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
class ChannelChoice:
    """A channel, and who may write there directly; None leaves that as it is, and begins with those who are listed."""

    name: str
    dm_policy: DmPolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """None leaves things as they are. `owner` is who the owner is on channels, `allow` who else is let in there, as
    `channel:id`."""

    model: Model | None = None
    dm_scope: DmScope | None = None
    channels: tuple[ChannelChoice, ...] = ()
    allow: tuple[str, ...] = ()
    owner: tuple[str, ...] = ()


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
    for channel in choices.channels:
        if channel.dm_policy is not None or channel.name not in present.channels:
            yield ["channels", channel.name, "dmPolicy"], str(channel.dm_policy or DmPolicy.ALLOWLIST)
    yield from _let_in((*choices.allow, *choices.owner), present)
    if choices.owner:
        owners = [*(present.commands.owner_allow_from or ()), *choices.owner]
        yield ["commands", "ownerAllowFrom"], list(dict.fromkeys(owners))


def read_provider(text: str) -> str:
    if text.lower() in PROVIDERS:
        return text.lower()
    if not _NAME.fullmatch(text):
        raise InvalidInput(f"{text!r} is no name for a provider", hint="use letters, digits, dots and dashes")
    return text


def nearest(provider: str) -> str | None:
    """The known one that a name which is not known may stand for."""
    near = [] if provider in PROVIDERS else get_close_matches(provider.lower(), PROVIDERS, n=1, cutoff=0.75)
    return next(iter(near), None)


def read_address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme in ("http", "https") and parts.netloc:
        return text
    hint = "write it like http://127.0.0.1:8000/v1"
    raise InvalidInput(f"{text!r} does not begin with http:// or https://", hint=hint)


def read_model(text: str) -> str:
    if not text:
        raise InvalidInput("a model needs a name", hint="give it as the provider spells it")
    return text


def read_scope(text: str) -> DmScope:
    try:
        return DmScope(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is none of them", hint=f"choose {' or '.join(DmScope)}") from None


def read_channels(text: str) -> tuple[ChannelChoice, ...]:
    """`telegram`, or with who may write there directly `telegram=pairing`; several with spaces between."""
    return tuple(map(_read_channel, text.split()))


def _read_channel(text: str) -> ChannelChoice:
    name, given, policy = text.partition("=")
    if not _CHANNEL.fullmatch(name.lower()):
        raise InvalidInput(f"{name!r} is no name for a channel", hint="write telegram or telegram=pairing")
    return ChannelChoice(name=name.lower(), dm_policy=read_policy(policy) if given else None)


def read_policy(text: str) -> DmPolicy:
    try:
        return DmPolicy(text.lower())
    except ValueError:
        raise InvalidInput(f"{text!r} is none of them", hint=f"choose {' or '.join(DmPolicy)}") from None


def read_people(text: str) -> tuple[str, ...]:
    people = tuple(text.split())
    for one in people:
        _somebody(one)
    return people


def reached(provider: str, base_url: str | None) -> None:
    """Refuse a provider of which nobody says where it is."""
    if provider in PROVIDERS or base_url is not None:
        return
    near = nearest(provider)
    other = f"did you mean {near}?" if near else f"or one of {', '.join(PROVIDERS)}"
    raise InvalidInput(f"where {provider} is reached is not known", hint=f"give --base-url, {other}")


def _provider(model: Model) -> JsonObject:
    reached(model.provider, model.base_url)
    written: dict[str, JsonValue] = {"api": str(PROVIDERS.get(model.provider, ELSEWHERE).api)}
    if model.base_url is not None:
        written["baseUrl"] = model.base_url
    if model.key is not None:
        written["apiKey"] = model.key
    return written


def _let_in(people: tuple[str, ...], present: Settings) -> Iterator[Setting]:
    by_channel: dict[str, list[str]] = {}
    for one in people:
        channel, person = _somebody(one)
        by_channel.setdefault(channel.lower(), []).append(person)
    for channel, ids in by_channel.items():
        known = present.channels.get(channel)
        listed = [*(known.allow_from if known else ()), *ids]
        yield ["channels", channel, "allowFrom"], list(dict.fromkeys(listed))


def _somebody(text: str) -> tuple[str, str]:
    """A channel, and who that is there."""
    channel, _, person = text.partition(":")
    if not _NAME.fullmatch(channel) or not person:
        raise InvalidInput(f"{text!r} does not say who that is where", hint="write telegram:12345")
    return channel, person
