"""The order in which an audit tells what it found."""

from roost.core.findings import Finding, Severity, in_order


def test_the_worst_comes_first_and_what_is_as_bad_by_its_name() -> None:
    found = [
        Finding(id=name, severity=severity, text="", setting=setting, fix="")
        for name, severity, setting in (
            ("a", Severity.INFO, "x"),
            ("c", Severity.CRITICAL, "x"),
            ("b", Severity.WARN, "y"),
            ("b", Severity.WARN, "x"),
            ("a", Severity.CRITICAL, "x"),
        )
    ]
    ranked = [(one.severity, one.id, one.setting) for one in in_order(found)]
    assert ranked == [
        (Severity.CRITICAL, "a", "x"),
        (Severity.CRITICAL, "c", "x"),
        (Severity.WARN, "b", "x"),
        (Severity.WARN, "b", "y"),
        (Severity.INFO, "a", "x"),
    ]
