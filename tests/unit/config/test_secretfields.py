from pathlib import Path

import pytest

from roost.config.catalogue import keys
from roost.config.secretfields import SecretCommand
from roost.config.settings import as_document
from roost.core.secrets import MASK, Secret
from tests.unit.config.given import loaded, refused, settings

PLANTED = "planted-7f3a"


def _token(given: object, environ: dict[str, str] | None = None) -> Secret | None:
    return settings({"gateway": {"auth": {"token": given}}}, environ or {}).gateway.auth.token


def _file(tmp_path: Path, content: str, mode: int = 0o600) -> str:
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(mode)
    return str(path)


def test_a_credential_is_given_as_text_or_by_a_variable_or_in_a_file(tmp_path: Path) -> None:
    assert _token(PLANTED) == Secret(PLANTED)
    assert _token({"env": "T"}, {"T": PLANTED}) == Secret(PLANTED)
    assert _token({"file": _file(tmp_path, PLANTED + "\r\n")}) == Secret(PLANTED)


def test_a_file_is_looked_for_below_the_home_folder(tmp_path: Path) -> None:
    _file(tmp_path, PLANTED)
    assert _token({"file": "token"}, {"ROOST_HOME": str(tmp_path)}) == Secret(PLANTED)
    assert _token({"file": "~/token"}, {"HOME": str(tmp_path)}) == Secret(PLANTED)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_can_read_is_taken_with_a_warning(tmp_path: Path, mode: int) -> None:
    result = loaded({"gateway": {"auth": {"token": {"file": _file(tmp_path, PLANTED, mode)}}}})
    assert result.settings.gateway.auth.token == Secret(PLANTED)
    assert ["chmod 600" in str(warning) for warning in result.warnings] == [True]


def test_a_program_is_named_but_not_run() -> None:
    given = settings({"models": {"providers": {"p": {"apiKey": {"command": ["pass", "show", "p"]}}}}})
    assert given.models.providers["p"].api_key == SecretCommand(("pass", "show", "p"))
    assert as_document(given)["models"]["providers"]["p"]["apiKey"] == {"command": ["pass", "show", "p"]}  # type: ignore[call-overload,index]


@pytest.mark.requirement("S21")
@pytest.mark.parametrize("given", ["", "  ", None, [], {}, 5, True, {"env": ""}, {"file": ""}, {"env": "E"}])
def test_an_empty_or_malformed_credential_is_refused(given: object) -> None:
    assert "gateway.auth.token" in refused({"gateway": {"auth": {"token": given}}}, {"E": ""})


@pytest.mark.parametrize(
    "given",
    [
        {"command": ["pass", "show", "x"]},
        {"env": "T", "file": "x"},
        {"vault": "x"},
        {"env": 5},
        {"env": "MISSING"},
    ],
)
def test_a_reference_that_cannot_be_followed_is_refused(given: object) -> None:
    assert "gateway.auth.token" in refused({"gateway": {"auth": {"token": given}}}, {"T": "x"})


@pytest.mark.requirement("S5")
@pytest.mark.parametrize(
    "given", [["sh", "-c", "x"], ["op", "run"], ["pass"], ["/tmp/op", "read"], ["env", "op", "read"]]
)
def test_a_program_outside_the_list_is_refused_wherever_one_may_be_named(given: list[str]) -> None:
    named = {"command": given}
    provider = {"apiKey": named, "headers": {"X": named}, "models": [{"id": "m", "headers": {"X": named}}]}
    document = {"models": {"providers": {"p": provider}}}
    assert refused(document).keys() == {
        "models.providers.p.apiKey",
        "models.providers.p.headers.X",
        "models.providers.p.models[0].headers.X",
    }
    found = settings(document, {"ROOST_PROGRAMS": f"/bin/other:{given[0]}"})
    assert found.models.providers["p"].api_key == SecretCommand(tuple(given))


@pytest.mark.requirement("S5")
def test_no_other_setting_names_a_program() -> None:
    able = {key.path for key in keys() if "command: [" in key.allowed}
    assert able == {
        "models.providers.<name>.apiKey",
        "models.providers.<name>.headers",
        "models.providers.<name>.models[].headers",
    }


@pytest.mark.parametrize("given", [[], "pass", [""], {}])
def test_a_program_without_a_name_is_refused(given: object) -> None:
    path = "models.providers.p.apiKey"
    assert path in refused({"models": {"providers": {"p": {"apiKey": {"command": given}}}}})


def test_a_file_that_holds_no_credential_is_refused_with_the_reason(tmp_path: Path) -> None:
    reasons = []
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xff")
    for path in ("missing", "binary", ".", _file(tmp_path, "x" * 70_000)):
        problems = refused({"gateway": {"auth": {"token": {"file": path}}}}, {"ROOST_HOME": str(tmp_path)})
        reasons.append(problems["gateway.auth.token"].reason)
    assert [reason.partition(" ")[2] for reason in reasons] == [
        "cannot be read: No such file or directory",
        "is not UTF-8 text",
        "is not a file",
        "is too large for a credential",
    ]


@pytest.mark.requirement("P24")
@pytest.mark.parametrize(
    "masked", [MASK, "__OPENCLAW_REDACTED__", "sk-abc…wx9z", "{{secret:gateway.auth.token}}"]
)
def test_a_masked_value_written_back_is_refused(masked: str) -> None:
    problem = refused({"gateway": {"auth": {"token": masked}}})["gateway.auth.token"]
    assert "masked" in problem.reason


@pytest.mark.requirement("S24")
def test_settings_show_a_mask_wherever_they_are_written() -> None:
    given = settings(
        {
            "gateway": {"auth": {"token": PLANTED}},
            "database": f"postgresql://u:{PLANTED}@h/d",
            "models": {"providers": {"p": {"apiKey": PLANTED, "headers": {"X-Key": PLANTED}}}},
        }
    )
    for text in (
        repr(given),
        str(given),
        str(given.model_dump()),
        given.model_dump_json(),
        f"{as_document(given)}",
    ):
        assert PLANTED not in text
        assert MASK in text
