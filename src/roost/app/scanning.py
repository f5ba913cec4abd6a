"""What finds credentials in this installation."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from roost.config import Loaded, configured_secrets
from roost.config.gateway import TOKEN_FILE
from roost.core.redaction import ExactValues, Span
from roost.core.seals import Seals
from roost.core.secrets import Secret
from roost.ports import SecretScanner
from roost.scanners.stdlib import StdlibScanner


def named_secrets(loaded: Loaded) -> Mapping[str, str]:
    """The configured ones by their settings, and the token that the gateway made for itself by its file."""
    own = kept_token(loaded.sources.home)
    configured = configured_secrets(loaded.settings)
    named = configured if own is None else {**configured, TOKEN_FILE: own}
    return {name: secret.reveal() for name, secret in named.items()}


def known_secrets(loaded: Loaded) -> tuple[str, ...]:
    return tuple(named_secrets(loaded).values())


def kept_token(home: Path) -> Secret | None:
    """The one in the file, whoever else may be able to read it."""
    try:
        text = (home / TOKEN_FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return Secret(text) if text else None


def secret_scanner(loaded: Loaded) -> SecretScanner:
    """What finds credentials: the known ones as they are, others by their form."""
    return ExactValues(known_secrets(loaded), _by_form())


def seals_of(loaded: Loaded) -> Seals:
    return Seals({value: name for name, value in named_secrets(loaded).items()})


class Masks:
    """Finds the credentials of one configuration after another: what was one may still be written somewhere. What is
    kept names those that are configured instead."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._scanner = _by_form()
        self._seals = Seals({})

    def learn(self, loaded: Loaded) -> None:
        self._names |= {value: name for name, value in named_secrets(loaded).items()}
        self._scanner = ExactValues(self._names, _by_form())
        self._seals = Seals(self._names)

    def find(self, text: str) -> Sequence[Span]:
        return self._scanner.find(text)

    def sealed(self, text: str) -> str:
        return self._seals.sealed(text)


def _by_form() -> SecretScanner:
    if find_spec("re2") is None:
        return StdlibScanner()
    from roost.scanners.re2 import Re2Scanner  # noqa: PLC0415 — has no wheel for every platform

    return Re2Scanner()
