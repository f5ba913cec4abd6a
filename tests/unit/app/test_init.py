"""What the composition root offers is loaded when it is asked for."""

import subprocess
import sys

import pytest

from roost import app

READ = "import sys, roost.app; print(*(name for name in ('pydantic', 'starlette', 'apsw') if name in sys.modules))"


def test_everything_it_offers_is_there() -> None:
    for name in app.__all__:
        assert getattr(app, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = app.nothing


def test_it_loads_nothing_by_itself() -> None:
    ran = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
