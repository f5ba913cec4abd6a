"""Messages that start a conversation afresh, and the model that `/new <model>` asks for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from roost.core.catalogue import Catalogue
from roost.core.models import ModelSpec

DEFAULT_TRIGGERS = ("/new", "/reset")

_SHORTEST_GUESS = 6


_GREETING = (
    "[Gateway] The person has just started a new conversation. Greet them in one to three sentences, in your own voice, "
    "and ask what you can do."
)
_QUIETLY = "Say nothing about this note or about how the gateway works."


def greeting(unusual: str | None = None) -> str:
    """What has an agent greet who started afresh. A model that is not its usual one is worth a word."""
    model = f" Mention that {unusual} answers here, which is not your usual model." if unusual else ""
    return f"{_GREETING}{model} {_QUIETLY}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """`word` is the trigger as configured, in lower case; `rest` is the first turn, line breaks kept."""

    word: str
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """The model a text begins with, if it does, and what is left to say."""

    model: str | None
    rest: str


def find_trigger(text: str, *, extras: Iterable[str] = ()) -> Trigger | None:
    """The trigger a message consists of or begins with; a leading mention has been taken off."""
    words = {word.strip().lower() for word in (*DEFAULT_TRIGGERS, *extras)} - {""}
    # Longest first, so that a trigger which begins with another one is found.
    choices = "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))
    found = re.fullmatch(
        rf"\s*(?P<word>{choices})(?:@[^\s:@]+)?(?:[^\S\n]*:|(?=\s)|\Z)(?P<rest>.*)",
        text,
        re.IGNORECASE | re.DOTALL,
    )
    if not found:
        return None
    return Trigger(word=found["word"].lower(), rest=found["rest"].strip())


def take_model(text: str, catalogue: Catalogue) -> NamedModel:
    """Read the model at the start of what follows `/new`. What names no allowed model is all text."""
    found = re.match(r"(\S+)(?:[^\S\n]+(\S+))?", text)
    if not found:
        return NamedModel(model=None, rest=text)
    first, second = found[1], found[2]
    if second and (spec := _of_provider(first, second, catalogue)):
        return NamedModel(model=str(spec.ref), rest=text[found.end() :].strip())
    if spec := _named(first, catalogue):
        return NamedModel(model=str(spec.ref), rest=text[found.end(1) :].strip())
    return NamedModel(model=None, rest=text)


def _of_provider(provider: str, model: str, catalogue: Catalogue) -> ModelSpec | None:
    """Listed ones only: of a provider whose models are not listed, any word would be one."""
    specs = _models_of(provider, catalogue)
    exact = (spec for spec in specs if spec.ref.model.lower() == model.lower())
    return next(exact, None) or _guess(model, specs)


def _named(token: str, catalogue: Catalogue) -> ModelSpec | None:
    if spec := catalogue.aliased(token):
        return spec
    provider, slash, model = token.partition("/")
    if slash:
        return catalogue.offered(token) or _guess(model, _models_of(provider, catalogue))
    if specs := _models_of(token, catalogue):
        return specs[0]
    return _guess(token, catalogue.specs())


def _models_of(provider: str, catalogue: Catalogue) -> tuple[ModelSpec, ...]:
    return tuple(spec for spec in catalogue.specs() if spec.ref.provider.lower() == provider.lower())


def _guess(token: str, specs: Iterable[ModelSpec]) -> ModelSpec | None:
    """The one model whose name contains the token; short tokens would too often be plain words."""
    if len(token) < _SHORTEST_GUESS:
        return None
    fitting = [spec for spec in specs if token.lower() in spec.ref.model.lower()]
    return fitting[0] if len(fitting) == 1 else None
