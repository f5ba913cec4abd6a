import re
import subprocess
import sys
from pathlib import Path

from roost.config.catalogue import keys
from roost.config.reference import page
from tests.unit.config.given import loaded

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_committed_page_is_the_one_the_settings_give() -> None:
    assert PAGE.read_text() == page(), "run: python -m roost.config.reference > docs/configuration.md"


def test_the_page_names_every_key() -> None:
    text = page()
    for key in keys():
        if "." in key.path or key.path == "database":
            assert f"| `{key.path}` |" in text


def test_every_example_of_the_page_loads(tmp_path: Path) -> None:
    (tmp_path / "gateway.token").write_text("x")
    (tmp_path / "gateway.token").chmod(0o600)
    examples = re.findall(r"```json5\n(.*?)```", page(), re.DOTALL)
    assert len(examples) >= 4
    for example in examples:
        assert loaded(example, {"ROOST_HOME": str(tmp_path), "LOCAL_MODEL_KEY": "x"}).warnings == ()


def test_the_page_is_printed_by_its_module() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "roost.config.reference"], capture_output=True, text=True, check=True
    )
    assert run.stdout == page()
    assert run.stderr == ""


def test_every_row_has_its_five_cells() -> None:
    rows = [
        line for line in page().splitlines() if line.startswith("| `") and not line.startswith("| `ROOST_")
    ]
    assert {row.count(" | ") for row in rows} == {4}
