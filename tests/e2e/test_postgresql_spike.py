"""The spike behind the record on PostgreSQL still proves what the record says."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import postgres
from tests.parts import NeedPart

SCRIPT = Path(__file__).parents[2] / "docs" / "decisions" / "spikes" / "postgresql.py"


@pytest.mark.timeout(300)
def test_the_verbs_of_the_store_hold_on_a_real_postgresql_with_three_gateways(need_part: NeedPart) -> None:
    programs = postgres.binaries()
    need_part("PostgreSQL", present=programs is not None, remedy=postgres.REMEDY)
    assert programs is not None
    with postgres.running(programs) as server:
        done = subprocess.run(
            [sys.executable, SCRIPT, server.address], capture_output=True, text=True, check=False, timeout=240
        )
    assert done.returncode == 0, done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["proved"] * 5
