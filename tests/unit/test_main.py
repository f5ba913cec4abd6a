"""`python -m roost` is the `roost` command."""

import gc
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def usual() -> Iterator[tuple[int, int, int]]:
    """How often the collector runs in the process of the tests."""
    found = gc.get_threshold()
    yield found
    gc.set_threshold(*found)


@pytest.mark.filterwarnings("ignore:'roost.__main__' found in sys.modules:RuntimeWarning")
def test_it_runs_as_a_module(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    usual: tuple[int, int, int],
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["roost"])
    with Path("/dev/null").open(encoding="utf-8") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("roost", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("Roost ")
    assert gc.get_threshold()[0] > usual[0], "loading is not interrupted"
