from pathlib import Path

from roost.app import secret_scanner
from roost.config import load


def test_configured_secrets_are_found_whatever_their_form(tmp_path: Path) -> None:
    scanner = secret_scanner(
        load({"ROOST_HOME": str(tmp_path), "ROOST_GATEWAY_TOKEN": "plain words of the owner"})
    )
    text = "it is `plain words of the owner`, or ghp_" + "a1B2" * 9
    assert [text[span.start : span.end][:5] for span in scanner.find(text)] == ["plain", "ghp_a"]
