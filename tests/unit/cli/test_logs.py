"""`roost logs` on the terminal."""

import json
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from roost.app.serving import Served
from roost.cli.logs import line_of, logs
from roost.cli.main import main
from tests.unit.cli.conftest import Screen

PLANTED = "tok-" + "zR8q" * 8


@pytest.mark.requirement("P29")
def test_the_lines_of_one_trace_are_shown(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("hello", "again"):
        assert main(["agent", "--message", words]) == 0
    capsys.readouterr()
    assert main(["logs", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    traces = list(dict.fromkeys(line["trace"] for line in lines if "trace" in line))
    assert len(traces) == 2
    assert main(["logs", "--trace", traces[1]]) == 0
    shown = capsys.readouterr().out
    assert "was accepted" in shown
    assert "ended as" in shown
    assert all(f"trace={traces[1]}" in line for line in shown.splitlines())
    assert main(["logs", "--trace", "nope"]) == 0
    nothing = capsys.readouterr()
    assert nothing.out == ""
    assert nothing.err.startswith("roost: no line of trace nope among the last 100 of ")


@pytest.mark.requirement("S24")
def test_no_line_shows_a_secret(
    home: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (home / "roost.json").read_text()
    (home / "roost.json").write_text(
        text.replace("gateway: {", f'gateway: {{ auth: {{ token: "{PLANTED}" }},')
    )
    request.getfixturevalue("served")
    assert main(["agent", "--message", f"my token is {PLANTED}"]) == 0
    assert main(["send", "--message", f"again {PLANTED}", "--session", f"s-{PLANTED}"]) in (0, 1)
    capsys.readouterr()
    assert main(["logs", "--json"]) == 0
    assert "was accepted" in capsys.readouterr().out
    for file in (home / "logs").iterdir():
        assert PLANTED not in file.read_text()


def test_without_a_gateway_the_last_lines_are_still_there(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs"]) == 0
    assert "nothing yet in" in capsys.readouterr().out
    assert main(["logs", "--json"]) == 0
    nothing = capsys.readouterr()
    assert nothing.out == ""
    assert nothing.err.startswith("roost: nothing yet in ")
    (home / "logs").mkdir()
    (home / "logs" / "gateway.log").write_text('{"message": "one", "trace": "t"}\nnot JSON\n[1]\n')
    assert main(["logs"]) == 0
    assert capsys.readouterr().out == "one  trace=t\nnot JSON\n[1]\n"


async def test_lines_to_come_are_followed(
    home: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:

            async def follow() -> None:
                await logs(follow=True)

            group.start_soon(follow)
            await to_thread.run_sync(_append, home / "logs" / "gateway.log")
            await to_thread.run_sync(screen.shows, "it came later")
            group.cancel_scope.cancel()


def _append(file: Path) -> None:
    with file.open("a") as out:
        out.write('{"message": "it came later"}\n')


def test_a_line_is_read_by_people() -> None:
    fields = {"time": "T", "level": "error", "logger": "roost.x", "message": "m", "error": "E", "run": "r"}
    assert line_of(fields) == "T ERROR   roost.x: m  run=r\nE"
