"""Refuse a suite that leaves too much unrun: `python -m tests.meta.coverage_gate report.json`.

The report is what `coverage json` writes. Each package is held to its own share of lines and branches.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypedDict

WHOLE = frozenset({"core", "protocol"})
ELSEWHERE = 95.0


class Summary(TypedDict):
    """The part of a file's entry that counts."""

    num_statements: int
    covered_lines: int
    num_branches: int
    covered_branches: int


class Measured(TypedDict):
    """One file of the report."""

    summary: Summary


class Report(TypedDict):
    """The part of the report that counts."""

    files: Mapping[str, Measured]


@dataclass(frozen=True, slots=True)
class Count:
    """Lines and branches, run and all."""

    run: int = 0
    all: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.run + other.run, self.all + other.all)

    @property
    def percent(self) -> float:
        return 100.0 * self.run / self.all if self.all else 100.0


def count(summary: Summary) -> Count:
    return Count(
        summary["covered_lines"] + summary["covered_branches"],
        summary["num_statements"] + summary["num_branches"],
    )


def package_of(path: str) -> str:
    """`src/roost/core/keys.py` is of `core`; a module beside the packages is of `roost`."""
    inside = PurePosixPath(path.replace("\\", "/")).parts
    below = inside[inside.index("roost") + 1 :]
    return below[0] if len(below) > 1 else "roost"


def by_package(report: Report) -> dict[str, Count]:
    counts: defaultdict[str, Count] = defaultdict(Count)
    for path, measured in report["files"].items():
        counts[package_of(path)] += count(measured["summary"])
    return dict(counts)


def short(report: Report) -> Iterator[str]:
    """What falls below its bar: whole packages by file, the others by package."""
    if not report["files"]:
        yield "the report holds no file: was the suite run with --cov?"
    for path, measured in sorted(report["files"].items()):
        counted = count(measured["summary"])
        if package_of(path) in WHOLE and counted.run < counted.all:
            yield f"{path}: {counted.percent:.1f} % of lines and branches run, 100 % wanted"
    for package, counted in sorted(by_package(report).items()):
        if package not in WHOLE and counted.percent < ELSEWHERE:
            yield f"{package}: {counted.percent:.1f} % of lines and branches run, {ELSEWHERE:.0f} % wanted"


def main(path: str) -> int:
    report: Report = json.loads(Path(path).read_text(encoding="utf-8"))
    for package, counted in sorted(by_package(report).items()):
        sys.stdout.write(f"coverage {package:<10} {counted.percent:6.2f} %\n")
    findings = list(short(report))
    for line in findings:
        sys.stdout.write(f"{line}\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
