"""Parts that PyPI does not bring (a database server, a browser, a sandbox).

A test that needs one is skipped with a line naming it, and fails instead where nothing may be missing.
"""

import os
from typing import NoReturn, Protocol

import pytest

NOTHING_MAY_BE_MISSING = os.environ.get("CI") == "true"  # noqa: TID251 — the suite's own switch


class NeedPart(Protocol):
    """What the `need_part` fixture gives."""

    def __call__(self, part: str, *, present: bool, remedy: str) -> None: ...


def absent(part: str, remedy: str, *, fatal: bool) -> NoReturn:
    """End the test that needs `part`, in one line."""
    line = f"{part} is missing: {remedy}"
    if fatal:
        pytest.fail(line, pytrace=False)
    pytest.skip(line)


def need_part(part: str, *, present: bool, remedy: str) -> None:
    """Go on if `part` is there; `remedy` says what installs it."""
    if not present:
        absent(part, remedy, fatal=NOTHING_MAY_BE_MISSING)


def refuse_skip(report: pytest.TestReport | pytest.CollectReport, *, fatal: bool) -> None:
    """Turn a skip into a failure where nothing may be missing, however the test asked for it."""
    if fatal and report.skipped and not hasattr(report, "wasxfail"):
        report.longrepr = f"skipped although CI=true: {report.longreprtext}"
        report.outcome = "failed"
