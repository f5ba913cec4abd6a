"""What finds credentials in this installation."""

from collections.abc import Sequence
from importlib.util import find_spec

from roost.config import Loaded, configured_secrets
from roost.core.redaction import ExactValues, Span
from roost.ports import SecretScanner
from roost.scanners.stdlib import StdlibScanner


def secret_scanner(loaded: Loaded) -> SecretScanner:
    """What finds credentials: the configured ones as they are, others by their form."""
    known = configured_secrets(loaded.settings).values()
    return ExactValues((secret.reveal() for secret in known), _by_form())


class Masks:
    """Finds the credentials of one configuration after another: what was one may still be written somewhere."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._scanner = _by_form()

    def learn(self, loaded: Loaded) -> None:
        self._known |= {secret.reveal(): None for secret in configured_secrets(loaded.settings).values()}
        self._scanner = ExactValues(self._known, _by_form())

    def find(self, text: str) -> Sequence[Span]:
        return self._scanner.find(text)


def _by_form() -> SecretScanner:
    if find_spec("re2") is None:
        return StdlibScanner()
    from roost.scanners.re2 import Re2Scanner  # noqa: PLC0415 — has no wheel for every platform

    return Re2Scanner()
