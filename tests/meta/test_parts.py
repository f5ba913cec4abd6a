"""A missing outside part is told in one line, and is a failure where nothing may be missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import parts
from tests.meta.tree import ROOT

SAMPLE = """
import pytest

def test_that_needs_a_part(need_part):
    need_part("Thing", present=False, remedy="apt install thing")

def test_whose_part_is_there(need_part):
    need_part("Thing", present=True, remedy="apt install thing")

@pytest.mark.skip(reason="no thing")
def test_skipped_by_mark():
    pass

@pytest.mark.xfail(reason="known")
def test_expected_to_fail():
    raise AssertionError
"""
MODULE_SAMPLE = 'import pytest\npytest.importorskip("a_module_nobody_has")\n'


def run_sample(folder: Path, text: str, *, ci: str) -> str:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_sample.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CI": ci}  # noqa: TID251 — handed to a child
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout


def test_a_missing_part_skips_its_test_with_a_line_that_says_what_to_install(tmp_path: Path) -> None:
    out = run_sample(tmp_path, SAMPLE, ci="")
    assert "Thing is missing: apt install thing" in out
    assert "1 passed, 2 skipped, 1 xfailed" in out


def test_with_ci_set_every_kind_of_skip_is_a_failure(tmp_path: Path) -> None:
    out = run_sample(tmp_path, SAMPLE, ci="true")
    assert "Thing is missing: apt install thing" in out
    assert "1 failed, 1 passed, 1 xfailed, 1 error" in out


def test_with_ci_set_a_module_that_skips_itself_is_an_error(tmp_path: Path) -> None:
    assert "1 skipped" in run_sample(tmp_path, MODULE_SAMPLE, ci="")
    assert "1 error" in run_sample(tmp_path, MODULE_SAMPLE, ci="true")


def test_absent_skips_or_fails_and_never_returns() -> None:
    with pytest.raises(pytest.skip.Exception, match="X is missing: get it"):
        parts.absent("X", "get it", fatal=False)
    with pytest.raises(pytest.fail.Exception, match="X is missing: get it"):
        parts.absent("X", "get it", fatal=True)
