"""Messages that start a conversation afresh, and the model that `/new <model>` asks for."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

DEFAULT_TRIGGERS = ("/new", "/reset")

_SHORTEST_GUESS = 6


GREETING = (
    "[Gateway] The person has just started a new conversation. Greet them in one to three sentences, in your own voice, "
    "and ask what you can do. Say nothing about this note or about how the gateway works."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """`word` is the trigger as configured, in lower case; `rest` is the first turn, line breaks kept."""

    word: str
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCatalogue:
    """Known `provider/model` refs in order of preference; `allowed` None means all of them."""

    refs: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    allowed: frozenset[str] | None = None

    def permits(self, ref: str) -> bool:
        return self.allowed is None or ref in self.allowed

    @property
    def usable(self) -> tuple[str, ...]:
        return tuple(ref for ref in self.refs if self.permits(ref))

    def models_of(self, provider: str) -> tuple[str, ...]:
        """The usable refs of a provider."""
        return tuple(ref for ref in self.usable if ref.partition("/")[0].lower() == provider.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """The model a text begins with, if it does, and what is left to say."""

    model: str | None
    rest: str


def find_trigger(
    text: str, *, extras: Iterable[str] = (), bot: str | None = None, spoken: bool = False
) -> Trigger | None:
    """The trigger a message consists of or begins with.

    A leading mention has been taken off. `bot` is the name a `@suffix` must have; without it any will do.
    What was only heard (`spoken`) never triggers.
    """
    if spoken:
        return None
    words = {word.strip().lower() for word in (*DEFAULT_TRIGGERS, *extras)} - {""}
    # Longest first, so that a trigger which begins with another one is found.
    choices = "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))
    suffix = r"[^\s:@]+" if bot is None else re.escape(bot)
    found = re.fullmatch(
        rf"\s*(?P<word>{choices})(?:@{suffix})?(?:[^\S\n]*:|(?=\s)|\Z)(?P<rest>.*)",
        text,
        re.IGNORECASE | re.DOTALL,
    )
    if not found:
        return None
    return Trigger(word=found["word"].lower(), rest=found["rest"].strip())


def take_model(text: str, catalogue: ModelCatalogue) -> ModelRequest:
    """Read the model at the start of what follows `/new`. What names no allowed model is all text."""
    found = re.match(r"(\S+)(?:[^\S\n]+(\S+))?", text)
    if not found:
        return ModelRequest(model=None, rest=text)
    first, second = found[1], found[2]
    if second and (ref := _of_provider(first, second, catalogue)):
        return ModelRequest(model=ref, rest=text[found.end() :].strip())
    if ref := _named(first, catalogue):
        return ModelRequest(model=ref, rest=text[found.end(1) :].strip())
    return ModelRequest(model=None, rest=text)


def _of_provider(provider: str, model: str, catalogue: ModelCatalogue) -> str | None:
    refs = catalogue.models_of(provider)
    return _exact(f"{provider}/{model}", refs) or _guess(model, refs)


def _named(token: str, catalogue: ModelCatalogue) -> str | None:
    for alias, ref in catalogue.aliases.items():
        if alias.lower() == token.lower() and catalogue.permits(ref):
            return ref
    provider, slash, model = token.partition("/")
    if slash:
        return _exact(token, catalogue.usable) or _guess(model, catalogue.models_of(provider))
    if models := catalogue.models_of(token):
        return models[0]
    return _guess(token, catalogue.usable)


def _exact(token: str, refs: tuple[str, ...]) -> str | None:
    return next((ref for ref in refs if ref.lower() == token.lower()), None)


def _guess(token: str, refs: tuple[str, ...]) -> str | None:
    """The one model whose name contains the token; short tokens would too often be plain words."""
    if len(token) < _SHORTEST_GUESS:
        return None
    fitting = [ref for ref in refs if token.lower() in ref.partition("/")[2].lower()]
    return fitting[0] if len(fitting) == 1 else None
