"""What finds credentials in this installation."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from roost.config import Loaded, configured_secrets
from roost.config.gateway import TOKEN_FILE
from roost.core.redaction import ExactValues, Span
from roost.core.secrets import Secret
from roost.ports import SecretScanner
from roost.scanners.stdlib import StdlibScanner


def known_secrets(loaded: Loaded) -> tuple[str, ...]:
    """The configured ones, and the token that the gateway made for itself."""
    own = kept_token(loaded.sources.home)
    configured = configured_secrets(loaded.settings).values()
    return tuple(secret.reveal() for secret in (*configured, own) if secret is not None)


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


class Masks:
    """Finds the credentials of one configuration after another: what was one may still be written somewhere."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._scanner = _by_form()

    def learn(self, loaded: Loaded) -> None:
        self._known |= dict.fromkeys(known_secrets(loaded))
        self._scanner = ExactValues(self._known, _by_form())

    def find(self, text: str) -> Sequence[Span]:
        return self._scanner.find(text)


def _by_form() -> SecretScanner:
    if find_spec("re2") is None:
        return StdlibScanner()
    from roost.scanners.re2 import Re2Scanner  # noqa: PLC0415 — has no wheel for every platform

    return Re2Scanner()
