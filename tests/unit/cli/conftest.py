"""A home of its own for each test of the command, and words to say in it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

Typed = Callable[[str], None]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed) -> Path:
    for name in ("ROOST_CONFIG", "ROOST_GATEWAY_TOKEN", "ROOST_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    typed("")
    return tmp_path


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Typed]:
    """What the person types before the input ends."""
    with ExitStack() as files:

        def type_in(text: str) -> None:
            file = tmp_path / "typed.txt"
            file.write_text(text, encoding="utf-8")
            monkeypatch.setattr("sys.stdin", files.enter_context(file.open(encoding="utf-8")))

        yield type_in
