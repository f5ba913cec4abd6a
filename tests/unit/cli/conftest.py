"""A home of its own for each test of the command, and words to say in it."""

import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from roost.app.serving import Served, open_gateway
from roost.cli.main import main
from roost.config import load
from roost.core.errors import RoostError
from roost.server.listening import bind

Typed = Callable[[str], None]
Told = Callable[..., str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed) -> Path:
    for name in ("ROOST_CONFIG", "ROOST_GATEWAY_TOKEN", "ROOST_GATEWAY_PASSWORD", "ROOST_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with bind("127.0.0.1", 0) as free:
        (tmp_path / "roost.json").write_text(f"{{ gateway: {{ port: {free.getsockname()[1]} }} }}")
    typed("")
    return tmp_path


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """What a command says, and that it ends well."""

    def run(*arguments: str, code: int = 0) -> str:
        assert main(arguments) == code, capsys.readouterr()
        return capsys.readouterr().out

    return run


def as_json(told: Told, *arguments: str) -> Any:
    return json.loads(told(*arguments, "--json"))


@pytest.fixture
def served(home: Path) -> Iterator[Served]:
    """A gateway at the configured port, in a thread of its own."""
    with serving(home) as gateway:
        yield gateway


@contextmanager
def serving(home: Path, port: int | None = None, **environ: str) -> Iterator[Served]:
    loaded = load({"ROOST_HOME": str(home), **environ})
    opened = open_gateway(loaded, version="1", tell=list[RoostError]().append, port=port)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened) as gateway:
        yield gateway


class Screen(io.StringIO):
    """Output that can be waited for, from whichever thread it comes."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()

    def write(self, text: str) -> int:
        with self._changed:
            written = super().write(text)
            self._changed.notify_all()
        return written

    def shows(self, words: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: words in self.getvalue(), 20), self.getvalue()


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Typed]:
    """What the person types before the input ends."""
    with ExitStack() as files:

        def type_in(text: str) -> None:
            file = tmp_path / "typed.txt"
            file.write_text(text, encoding="utf-8")
            monkeypatch.setattr("sys.stdin", files.enter_context(file.open(encoding="utf-8")))

        yield type_in
