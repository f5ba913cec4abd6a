"""The examples in the client's document run."""

import re
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).parents[3] / "docs" / "client.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_example_runs_as_it_stands(tmp_path: Path) -> None:
    """Each in a home of its own, all in one process: they are meant for one each, and a process costs a second."""
    examples = EXAMPLE.findall(DOCUMENT.read_text(encoding="utf-8"))
    assert len(examples) == 3
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(examples)],
        env={"ROOST_HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "one conversation" in ran.stdout
    assert "agent:main:notes" in ran.stdout
