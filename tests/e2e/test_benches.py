"""Every part of the bench runs and reports its figures; how good they are is not judged here."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.__main__ import PARTS

from tests.meta.tree import ROOT


@pytest.mark.timeout(900)
def test_every_part_of_the_bench_reports_its_figures(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, "-m", "bench", "--report", str(report)],
        env={**os.environ, "BENCH": "small"},  # noqa: TID251 — the bench's own switch
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    figures = json.loads(report.read_text())
    assert {figure["part"] for figure in figures} == set(PARTS)
    assert len({(figure["part"], figure["name"]) for figure in figures}) == len(figures)
    for figure in figures:
        assert figure["target"], figure
        assert all(math.isfinite(figure[value]) for value in ("ours", "floor")), figure
