"""`roost onboard`: the few things that cannot be guessed, asked once and written into the configuration."""

import getpass
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from roost.cli import firstconfig
from roost.cli.editing import EMPTY, edited, replaced
from roost.cli.firstconfig import ELSEWHERE, PROVIDERS, RECOMMENDED, Choices, Known, Model
from roost.cli.here import LOCAL, Local
from roost.cli.show import as_json, say
from roost.cli.typing import read_line
from roost.config import ConfigSource, Loaded
from roost.config.providers import ModelApi
from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject
from roost.core.scopes import DmScope

NO_MODEL = "none"


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
    """Set up a model, who shares a conversation, and who you are; what is set already is not asked again."""
    source = here.source()
    loaded = source.draft()
    asks = not (yes or here.json) and sys.stdin.isatty()
    choices = _asked(given, loaded, source) if asks else _usual(given, loaded, source)
    text = source.file.read_text(encoding="utf-8-sig") if source.file.exists() else EMPTY
    written = list(firstconfig.settings_of(choices, loaded.settings))
    for path, value in written:
        text = edited(text, path, value)
    if written:
        replaced(source, text)
    _tell(source, [".".join(path) for path, _ in written], _hints(source.draft()), as_document=here.json)
    return 0


def _usual(given: Given, loaded: Loaded, source: ConfigSource) -> Choices:
    """Without a word: what was given, what the environment shows, and what is recommended."""
    return Choices(
        model=_model(given, loaded, source),
        dm_scope=given.dm_scope or (None if firstconfig.has_scope(loaded.settings) else RECOMMENDED),
        owner=given.owner,
    )


def _asked(given: Given, loaded: Loaded, source: ConfigSource) -> Choices:
    return Choices(
        model=_model(given, loaded, source) or _asked_model(given, loaded, source),
        dm_scope=given.dm_scope or _asked_scope(loaded),
        owner=given.owner or _asked_owner(loaded),
    )


def _model(given: Given, loaded: Loaded, source: ConfigSource) -> Model | None:
    """The model as far as nobody has to be asked; None leaves what there is."""
    if given.provider == NO_MODEL or (given.provider is None and firstconfig.has_model(loaded.settings)):
        return None
    provider = given.provider or firstconfig.usual_provider(source.environ)
    if provider is None:
        return None
    known = PROVIDERS.get(provider, ELSEWHERE)
    name = given.model or known.model
    if not name:
        raise InvalidInput(f"which model of {provider}?", hint="give --model")
    return Model(
        provider=provider, name=name, base_url=given.base_url, key=_key(given, known, provider, source)
    )


def _key(given: Given, known: Known, provider: str, source: ConfigSource) -> JsonObject | None:
    if given.api_key_env is not None:
        return {"env": given.api_key_env}
    if given.api_key_file is not None:
        return {"file": str(given.api_key_file.absolute())}
    if given.api_key_stdin:
        return _kept(source.home, provider, sys.stdin.readline().strip())
    if known.variable is None:
        return None
    if known.variable in source.environ:
        return {"env": known.variable}
    if sys.stdin.isatty():
        return _kept(source.home, provider, getpass.getpass(f"Key for {provider} (not shown): ").strip())
    raise InvalidInput(
        f"{provider} needs a key", hint=f"set {known.variable}, or give --api-key-file or --api-key-stdin"
    )


def _kept(home: Path, provider: str, key: str) -> JsonObject:
    """Put a key into a file that only its owner can read; the reference to it."""
    if not key:
        raise InvalidInput("the key is empty")
    file = firstconfig.key_file(home, provider)
    for folder in (home, file.parent):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = file.with_suffix(".new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(f"{key}\n")
    beside.replace(file)
    return {"file": str(file.relative_to(home))}


def _asked_model(given: Given, loaded: Loaded, source: ConfigSource) -> Model | None:
    if given.provider == NO_MODEL or firstconfig.has_model(loaded.settings):
        return None
    say(f"Model provider: {', '.join(PROVIDERS)}, or a name of yours for an OpenAI-compatible endpoint.")
    provider = _answer("Provider", NO_MODEL)
    if provider == NO_MODEL:
        return None
    known = PROVIDERS.get(provider, ELSEWHERE)
    base_url = given.base_url
    if provider not in PROVIDERS and base_url is None:
        base_url = _answer("Where it is reached", "http://127.0.0.1:8000/v1")
    name = given.model or _answer("Model", known.model)
    if not name:
        raise InvalidInput("a model needs a name")
    return Model(provider=provider, name=name, base_url=base_url, key=_key(given, known, provider, source))


def _asked_scope(loaded: Loaded) -> DmScope | None:
    if firstconfig.has_scope(loaded.settings):
        return None
    say(
        "Which direct messages share one conversation? With owner-main yours do, and everyone else has their own."
    )
    text = _answer(f"One of {', '.join(DmScope)}", str(RECOMMENDED))
    try:
        return DmScope(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is none of them") from None


def _asked_owner(loaded: Loaded) -> tuple[str, ...]:
    if loaded.settings.commands.owner_allow_from is not None:
        return ()
    say("Who are you on the channels you use? For example telegram:12345, several with spaces between.")
    return tuple(_answer("You", "").split())


def _answer(question: str, usual: str) -> str:
    line = read_line(f"{question}{f' [{usual}]' if usual else ''}: ")
    if line is None:
        raise InvalidInput("nothing was changed", hint="begin again with `roost onboard`")
    return line.strip() or usual


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
    return [*hints, "`roost chat` talks here, `roost gateway run` serves clients"]


def _tell(source: ConfigSource, paths: list[str], hints: list[str], *, as_document: bool) -> None:
    if as_document:
        as_json({"file": str(source.file), "set": paths, "next": hints})
        return
    say(f"set in {source.file}: {', '.join(paths)}" if paths else "everything was set already")
    for hint in hints:
        say(hint)
