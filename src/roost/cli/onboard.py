"""`roost onboard`: the few things that cannot be guessed, asked once and written into the configuration."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from roost.app import privatefiles
from roost.cli import firstconfig
from roost.cli.editing import alone, edited, replaced, text_of
from roost.cli.firstconfig import ELSEWHERE, PROVIDERS, RECOMMENDED, ChannelChoice, Choices, Model
from roost.cli.here import LOCAL, Local, refuse_agent
from roost.cli.questions import ask, ask_hidden
from roost.cli.show import as_json, say
from roost.config import ConfigSource, Loaded
from roost.config.providers import ModelApi
from roost.core.admission import DmPolicy
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject
from roost.core.scopes import DmScope

NO_MODEL = "none"

BROUGHT = (
    "Roost brings a web page, the terminal, HTTP and webhooks. Of a chat service nothing comes without an adapter; "
    "`roost doctor` names what has none."
)

TypedKey: TypeAlias = Callable[[str], str]
"""The key that a person has for a provider; empty where it needs none."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    provider: Annotated[
        str | None, Parameter(help=f"{', '.join(PROVIDERS)}, a name of yours with --base-url, or {NO_MODEL}.")
    ] = None
    model: Annotated[str | None, Parameter(help="The provider's name for it.")] = None
    base_url: Annotated[str | None, Parameter(help="Where an OpenAI-compatible endpoint is.")] = None
    api_key_env: Annotated[str | None, Parameter(help="The variable that holds the key.")] = None
    api_key_file: Annotated[Path | None, Parameter(help="The file that holds the key.")] = None
    api_key_stdin: Annotated[
        bool, Parameter(help="Read the key from the input; it is kept in a file of your own.", negative="")
    ] = False
    dm_scope: Annotated[DmScope | None, Parameter(help="Which direct messages share a session.")] = None
    channel: Annotated[
        tuple[str, ...],
        Parameter(
            help=f"A channel to set up, and who may write there directly ({', '.join(DmPolicy)}): telegram=allowlist.",
            negative="",
        ),
    ] = ()
    allow: Annotated[
        tuple[str, ...], Parameter(help="Who else may write directly: telegram:67890.", negative="")
    ] = ()
    owner: Annotated[
        tuple[str, ...], Parameter(help="Who you are on a channel: telegram:12345.", negative="")
    ] = ()


NOTHING = Given()


def onboard(
    *,
    given: Given = NOTHING,
    yes: Annotated[bool, Parameter(help="Ask nothing: what is not given is as usual.", negative="")] = False,
    here: Local = LOCAL,
) -> int:
    """Set up a model, who shares a conversation, channels, and who you are; what is set already is not asked again."""
    refuse_agent()
    source = here.source()
    loaded = source.draft()
    asks = not (yes or here.json) and sys.stdin.isatty()
    if not _has_provider(given, loaded, source, asks=asks):
        raise InvalidInput("of which provider that model or key is was not said", hint="give --provider")
    choices = _asked(given, loaded, source) if asks else _usual(given, loaded, source)
    written = list(firstconfig.settings_of(choices, loaded.settings))
    if written:
        with alone(source):
            text = text_of(source)
            for path, value in written:
                text = edited(text, path, value)
            replaced(source, text)
    _tell(source, [".".join(path) for path, _ in written], _hints(source.draft()), as_document=here.json)
    return 0


def _has_provider(given: Given, loaded: Loaded, source: ConfigSource, *, asks: bool) -> bool:
    """Whether what is said of a model is anybody's: nothing of it is passed over."""
    named = (given.model, given.base_url, given.api_key_env, given.api_key_file)
    if all(one is None for one in named) and not given.api_key_stdin:
        return True
    if given.provider is not None:
        return given.provider != NO_MODEL
    found = asks or firstconfig.usual_provider(source.environ) is not None
    return found and not firstconfig.has_model(loaded.settings)


def _usual(given: Given, loaded: Loaded, source: ConfigSource) -> Choices:
    """Without a word: what was given, what the environment shows, and what is recommended."""
    return Choices(
        model=_model(given, loaded, source, _given_key),
        dm_scope=given.dm_scope or (None if firstconfig.has_scope(loaded.settings) else RECOMMENDED),
        channels=_channels(given),
        allow=given.allow,
        owner=given.owner,
    )


def _asked(given: Given, loaded: Loaded, source: ConfigSource) -> Choices:
    model = _model(given, loaded, source, _asked_key) or _asked_model(given, loaded, source)
    dm_scope = given.dm_scope or _asked_scope(loaded)
    channels = _channels(given) or _asked_channels(loaded)
    return Choices(
        model=model,
        dm_scope=dm_scope,
        channels=channels,
        allow=given.allow or _asked_people(channels),
        owner=given.owner or _asked_owner(loaded),
    )


def _channels(given: Given) -> tuple[ChannelChoice, ...]:
    return firstconfig.read_channels(" ".join(given.channel))


def _model(given: Given, loaded: Loaded, source: ConfigSource, typed: TypedKey) -> Model | None:
    """The model as far as nobody has to be asked for it; None leaves what there is."""
    if given.provider == NO_MODEL or (given.provider is None and firstconfig.has_model(loaded.settings)):
        return None
    wanted = given.provider or firstconfig.usual_provider(source.environ)
    if wanted is None:
        return None
    provider, base_url = firstconfig.read_provider(wanted), _base_url(given)
    firstconfig.reached(provider, base_url)
    name = given.model or PROVIDERS.get(provider, ELSEWHERE).model
    if not name:
        raise InvalidInput(f"which model of {provider}?", hint="give --model")
    return Model(provider=provider, name=name, base_url=base_url, key=_key(given, provider, source, typed))


def _base_url(given: Given) -> str | None:
    return None if given.base_url is None else firstconfig.read_address(given.base_url)


def _key(given: Given, provider: str, source: ConfigSource, typed: TypedKey) -> JsonObject | None:
    if given.api_key_env is not None:
        return {"env": given.api_key_env}
    if given.api_key_file is not None:
        return {"file": str(given.api_key_file.absolute())}
    if given.api_key_stdin:
        return _kept(source.home, provider, _some_key(sys.stdin.readline().strip()))
    variable = PROVIDERS.get(provider, ELSEWHERE).variable
    if variable is not None and variable in source.environ:
        return {"env": variable}
    key = typed(provider)
    return _kept(source.home, provider, key) if key else None


def _given_key(provider: str) -> str:
    variable = PROVIDERS.get(provider, ELSEWHERE).variable
    if variable is None:
        return ""
    raise InvalidInput(
        f"{provider} needs a key", hint=f"set {variable}, or give --api-key-file or --api-key-stdin"
    )


def _asked_key(provider: str) -> str:
    known = PROVIDERS.get(provider)
    if known is None:
        return ask_hidden(f"Key for {provider} (not shown; empty for a server without keys)", str)
    return "" if known.variable is None else ask_hidden(f"Key for {provider} (not shown)", _some_key)


def _some_key(text: str) -> str:
    if not text:
        raise InvalidInput("the key is empty")
    return text


def _kept(home: Path, provider: str, key: str) -> JsonObject:
    """Put a key into a file that only its owner can read; the reference to it."""
    file = firstconfig.key_file(home, provider)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    privatefiles.replace(file, f"{key}\n")
    return {"file": str(file.relative_to(home))}


def _asked_model(given: Given, loaded: Loaded, source: ConfigSource) -> Model | None:
    if given.provider == NO_MODEL or firstconfig.has_model(loaded.settings):
        return None
    say(f"Model provider: {', '.join(PROVIDERS)}, or a name of yours for an OpenAI-compatible endpoint.")
    provider = ask("Provider", NO_MODEL, firstconfig.read_provider)
    if provider == NO_MODEL:
        return None
    if near := firstconfig.nearest(provider):
        provider = near if ask(f"Did you mean {near}? yes or no", "yes", _read_yes) else provider
    base_url = _base_url(given)
    if provider not in PROVIDERS and base_url is None:
        base_url = ask("Where it is reached", "http://127.0.0.1:8000/v1", firstconfig.read_address)
    known = PROVIDERS.get(provider, ELSEWHERE)
    name = given.model or ask("Model", known.model, firstconfig.read_model)
    return Model(
        provider=provider, name=name, base_url=base_url, key=_key(given, provider, source, _asked_key)
    )


def _read_yes(text: str) -> bool:
    if text.lower() not in ("yes", "y", "no", "n"):
        raise InvalidInput(f"{text!r} is neither", hint="say yes or no")
    return text.lower().startswith("y")


def _asked_scope(loaded: Loaded) -> DmScope | None:
    if firstconfig.has_scope(loaded.settings):
        return None
    say(
        "Which direct messages share one conversation? With owner-main yours do, and everyone else has their own."
    )
    return ask(f"One of {', '.join(DmScope)}", str(RECOMMENDED), firstconfig.read_scope)


def _asked_channels(loaded: Loaded) -> tuple[ChannelChoice, ...]:
    if loaded.settings.channels:
        return ()
    say(BROUGHT)
    say("Which channels are there to be set up? For example telegram slack; none is a good answer.")
    named = ask("Channels", "", firstconfig.read_channels)
    if not named:
        return ()
    say("Who may write directly? With allowlist those whom you list, with open anyone.")
    return tuple(
        replace(
            one,
            dm_policy=ask(
                f"On {one.name}", str(one.dm_policy or DmPolicy.ALLOWLIST), firstconfig.read_policy
            ),
        )
        for one in named
    )


def _asked_people(channels: tuple[ChannelChoice, ...]) -> tuple[str, ...]:
    """Where a list counts at all."""
    if all(one.dm_policy in (DmPolicy.OPEN, DmPolicy.DISABLED) for one in channels):
        return ()
    say("Whom besides you? For example telegram:67890, several with spaces between.")
    return ask("Others", "", firstconfig.read_people)


def _asked_owner(loaded: Loaded) -> tuple[str, ...]:
    if loaded.settings.commands.owner_allow_from is not None:
        return ()
    say("Who are you on the channels you use? For example telegram:12345, several with spaces between.")
    return ask("You", "", firstconfig.read_people)


def _hints(loaded: Loaded) -> list[str]:
    settings = loaded.settings
    apis: Mapping[str, ModelApi] = {name: one.api for name, one in settings.models.providers.items()}
    missing = find_spec("pydantic_ai") is None
    hints = [
        f"{name} needs `pip install 'roost[providers]'`"
        for name, api in apis.items()
        if missing and api is not ModelApi.OPENAI_COMPLETIONS
    ]
    if not firstconfig.has_model(settings):
        hints.append("there is no model yet but the demo: `roost onboard --provider NAME` sets one up")
    if settings.channels:
        hints.append(BROUGHT)
    return [*hints, "`roost chat` talks here, `roost gateway run` serves clients"]


def _tell(source: ConfigSource, paths: list[str], hints: list[str], *, as_document: bool) -> None:
    if as_document:
        as_json({"file": str(source.file), "set": paths, "next": hints})
        return
    say(f"set in {source.file}: {', '.join(paths)}" if paths else "everything was set already")
    for hint in hints:
        say(hint)
