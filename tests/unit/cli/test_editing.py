"""One setting changed in a file, the rest left as it was."""

from pathlib import Path

import pyjson5
import pytest

from roost.cli.editing import changed, edited, removed, replaced
from roost.config import ConfigSource
from roost.core.errors import InvalidInput, RoostError

TEXT = """{
  // why this is so
  session: {
    dmScope: "main", // not for long
  },
  "gateway": { port: 1234 },
}
"""


def test_a_value_is_replaced_where_it_stands() -> None:
    assert edited(TEXT, ["session", "dmScope"], "per-peer") == TEXT.replace('"main"', '"per-peer"')


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (TEXT, "session.mainKey"),
        (TEXT, "gateway.auth.token"),
        (TEXT, "agents.defaults"),
        ("{}", "a.b"),
        ("{\n}\n", "a"),
        ("{b: 1}", "a"),
        ("{a: 1, a: 2}", "a"),
    ],
)
def test_what_is_not_there_is_put_in_and_everything_else_stays(text: str, path: str) -> None:
    names = path.split(".")
    found = edited(text, names, "new")
    value = before = pyjson5.decode(found)
    for name in names:
        value = value[name]
    assert value == "new"
    assert all(line in found for line in text.splitlines() if "//" in line)
    assert pyjson5.decode(text).keys() <= before.keys()


@pytest.mark.parametrize("between", ["// page\x0cbreak\n", "/* a\u2028b */", "\r\n", "\r", "/* \x85 */"])
def test_whatever_breaks_a_line_the_value_that_was_named_is_changed(between: str) -> None:
    text = f"{{{between} a: {{x: 'one'}},\n b: {{x: 'one'}},\n}}\n"
    assert pyjson5.decode(edited(text, ["b", "x"], "two")) == {"a": {"x": "one"}, "b": {"x": "two"}}


def test_what_cannot_be_changed_for_sure_is_left_to_an_editor() -> None:
    with pytest.raises(InvalidInput, match=r"a cannot be set in this file as it is written"):
        edited('{b: "one\u2028two"}', ["a"], 1)


@pytest.mark.parametrize("levels", [100, 50_000])
def test_a_value_of_too_many_levels_is_refused(tmp_path: Path, levels: int) -> None:
    source = ConfigSource({"ROOST_HOME": str(tmp_path)})
    with pytest.raises(InvalidInput, match=r"too many levels|cannot be set"):
        changed(source, "tools.deny", "[" * levels + "]" * levels)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("{}")
    source = ConfigSource({"ROOST_HOME": str(tmp_path)})
    source.file.unlink(missing_ok=True)
    source.file.symlink_to(kept)
    replaced(source, '{"gateway": {"port": 1234}}')
    assert source.file.is_symlink()
    assert kept.read_text() == '{"gateway": {"port": 1234}}'


def test_a_path_through_a_value_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is no object"):
        edited(TEXT, ["session", "dmScope", "x"], 1)


def test_a_file_that_is_wrong_is_not_touched(tmp_path: Path) -> None:
    source = ConfigSource({"ROOST_HOME": str(tmp_path)})
    with pytest.raises(InvalidInput, match="no path"):
        changed(source, "a..b", "1")
    source.file.write_text("{ nonsense: 1 }")
    with pytest.raises(RoostError, match="nonsense"):
        changed(source, "gateway.port", "1")


def test_a_value_is_json_or_else_text(tmp_path: Path) -> None:
    source = ConfigSource({"ROOST_HOME": str(tmp_path / "new")})
    assert '"port": 1234' in changed(source, "gateway.port", "1234")
    assert '"bind": "loopback"' in changed(source, "gateway.bind", "loopback")


@pytest.mark.parametrize(
    ("text", "path", "rest"),
    [
        ("{ a: 1, b: 2 }", "a", "{ b: 2 }"),
        ("{ a: 1, b: 2 }", "b", "{ a: 1 }"),
        ("{ a: 1 }", "a", "{  }"),
        ("{ a: { 'b': 1, }, c: 2 }", "a.b", "{ a: { }, c: 2 }"),
        ("{\n  // of b\n  a: 1, // of a\n  b: 2,\n}", "b", "{\n  // of b\n  a: 1, // of a\n  }"),
    ],
)
def test_a_setting_is_taken_out_and_the_rest_stays_as_it_was_written(text: str, path: str, rest: str) -> None:
    assert removed(text, path.split(".")) == rest


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{ a: 1 }", "b"),
        ("{ a: 1 }", "a.b"),
        ("{ a: 1 }", "b.c.d"),
        ("{ a: 1, a: 2 }", "a"),
        ("{ a: 1 /* of a */, b: 2 }", "a"),
    ],
)
def test_what_cannot_be_taken_out_is_refused(text: str, path: str) -> None:
    with pytest.raises(InvalidInput):
        removed(text, path.split("."))
