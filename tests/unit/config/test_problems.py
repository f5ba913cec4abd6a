import pytest

from roost.config.problems import ConfigRefused, Problem, nearest, path_text
from roost.core.errors import ConfigInvalid


@pytest.mark.parametrize(
    ("loc", "text"),
    [
        (("session", "reset", "atHour"), "session.reset.atHour"),
        (("agents", "list", 0, "id"), "agents.list[0].id"),
        (("tools", "sessions_spawn"), "tools.sessions_spawn"),
        (("models", "providers", "my.proxy", "api"), 'models.providers["my.proxy"].api'),
        ((), ""),
    ],
)
def test_a_place_is_written_as_in_a_program(loc: tuple[str | int, ...], text: str) -> None:
    assert path_text(loc) == text


def test_a_problem_says_where_what_and_what_is_allowed() -> None:
    assert str(Problem(path="a.b", reason="found 5", allowed="text", nearest="c")) == (
        "a.b: found 5; did you mean `c`?; allowed: text"
    )
    assert str(Problem(path="a.b", reason="missing")) == "a.b: missing"


def test_a_refusal_names_every_problem_under_a_stable_code() -> None:
    problems = [Problem(path="a", reason="x"), Problem(path="b", reason="y")]
    error = ConfigRefused("roost.json", problems)
    assert isinstance(error, ConfigInvalid)
    assert error.code == "config_invalid"
    assert error.problems == tuple(problems)
    assert error.message == "roost.json was refused, 2 problems:\n  a: x\n  b: y"
    assert "1 problem:" in str(ConfigRefused("roost.json", problems[:1]))


def test_the_nearest_name_ignores_case_and_may_not_exist() -> None:
    assert nearest("DMSCOP", ["dmScope", "scope"]) == "dmScope"
    assert nearest("zzz", ["dmScope"]) == ""
