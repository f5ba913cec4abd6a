"""The coverage gate bites exactly where a package falls short."""

import json
from pathlib import Path

import pytest

from tests.meta.coverage_gate import Measured, Report, Summary, main, package_of, short


def measured(run: int, wanted: int, *, branches: int = 0) -> Measured:
    summary = Summary(num_statements=wanted, covered_lines=run, num_branches=4, covered_branches=4 - branches)
    return Measured(summary=summary)


def report(**files: Measured) -> Report:
    return Report(files={f"src/roost/{name.replace('__', '/')}.py": value for name, value in files.items()})


def test_a_line_or_branch_missing_in_core_is_found() -> None:
    assert list(short(report(core__keys=measured(100, 100)))) == []
    assert len(list(short(report(core__keys=measured(99, 100))))) == 1
    assert len(list(short(report(protocol__frames=measured(100, 100, branches=1))))) == 1


def test_a_full_core_module_does_not_hide_a_lacking_one() -> None:
    findings = list(short(report(core__keys=measured(5000, 5000), core__routing=measured(9, 10))))
    assert [line.partition(":")[0] for line in findings] == ["src/roost/core/routing.py"]


def test_other_packages_are_held_to_their_share_each_on_its_own() -> None:
    assert list(short(report(stores__sqlite=measured(95, 100), stores__memory=measured(96, 100)))) == []
    findings = list(short(report(stores__sqlite=measured(1000, 1000), config__load=measured(90, 100))))
    assert len(findings) == 1
    assert findings[0].startswith("config: 90.4 %")


def test_a_report_without_files_is_refused() -> None:
    assert len(list(short(Report(files={})))) == 1


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("src/roost/core/keys.py", "core"),
        ("src/roost/stores/sqlite/writer.py", "stores"),
        ("src/roost/ports.py", "roost"),
        ("src\\roost\\core\\keys.py", "core"),
    ],
)
def test_a_file_counts_for_its_package(path: str, package: str) -> None:
    assert package_of(path) == package


def test_the_command_tells_each_package_and_ends_by_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report(core__keys=measured(100, 100))))
    assert main(str(path)) == 0
    path.write_text(json.dumps(report(core__keys=measured(1, 100))))
    assert main(str(path)) == 1
    assert "coverage core       100.00 %\n" in capsys.readouterr().out
