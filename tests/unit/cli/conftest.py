"""A home of its own for each test of the command, and words to say in it."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

Typed = Callable[[str], None]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ROOST_CONFIG", "ROOST_GATEWAY_TOKEN", "ROOST_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    return tmp_path


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Typed:
    """What the person types before the input ends."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))
