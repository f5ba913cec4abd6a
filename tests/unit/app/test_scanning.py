from pathlib import Path

import pytest

from roost.app.scanning import Masks, kept_token, known_secrets, secret_scanner
from roost.config import load


def test_configured_secrets_are_found_whatever_their_form(tmp_path: Path) -> None:
    scanner = secret_scanner(
        load({"ROOST_HOME": str(tmp_path), "ROOST_GATEWAY_TOKEN": "plain words of the owner"})
    )
    text = "it is `plain words of the owner`, or ghp_" + "a1B2" * 9
    assert [text[span.start : span.end][:5] for span in scanner.find(text)] == ["plain", "ghp_a"]


@pytest.mark.requirement("P24", "S24")
def test_the_token_that_the_gateway_made_for_itself_is_one_of_them(tmp_path: Path) -> None:
    loaded = load({"ROOST_HOME": str(tmp_path)})
    assert known_secrets(loaded) == ()
    (tmp_path / "gateway.token").write_text("made by the gateway\n")
    assert known_secrets(loaded) == ("made by the gateway",)
    assert secret_scanner(loaded).find("it is made by the gateway")


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_a_file_without_a_token_holds_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "gateway.token").write_bytes(content)
    assert kept_token(tmp_path) is None


@pytest.mark.requirement("P24")
def test_what_was_configured_once_is_not_kept(tmp_path: Path) -> None:
    masks, home = Masks(), {"ROOST_HOME": str(tmp_path)}
    for token in ("the-first-token", "the-second-token"):
        masks.learn(load({**home, "ROOST_GATEWAY_TOKEN": token}))
    name = "{{secret:gateway.auth.token}}"
    assert masks.sealed("the-first-token the-second-token") == f"{name} {name}"
