"""`roost security audit`: what the configuration and its files leave open to others."""

import sys
from collections import Counter
from collections.abc import Sequence

from roost.app import audited, close_files
from roost.config import Loaded
from roost.core.audit import Finding, Severity
from roost.core.jsonvalue import JsonObject, compact


def audit(loaded: Loaded, *, fix: bool, as_json: bool) -> int:
    """1 while something critical is left. With `fix`, files are closed first; settings are the owner's to change."""
    fixed = close_files(loaded) if fix else ()
    found = audited(loaded)
    sys.stdout.write(f"{compact(_document(found, fixed))}\n" if as_json else _text(found, fixed))
    return 1 if any(one.severity is Severity.CRITICAL for one in found) else 0


def _document(found: Sequence[Finding], fixed: Sequence[str]) -> JsonObject:
    counted = Counter(one.severity for one in found)
    return {
        "ok": not counted[Severity.CRITICAL],
        "summary": {str(severity): counted[severity] for severity in Severity},
        "findings": [
            {
                "checkId": one.id,
                "severity": str(one.severity),
                "detail": one.text,
                "setting": one.setting,
                "remediation": one.fix,
            }
            for one in found
        ],
        "fixed": list(fixed),
    }


def _text(found: Sequence[Finding], fixed: Sequence[str]) -> str:
    lines = [f"fixed     {one}" for one in fixed]
    for one in found:
        lines += [f"{one.severity:<9} {one.text}", f"          {one.id}; {one.setting}: {one.fix}"]
    return "".join(f"{line}\n" for line in lines or ["Nothing was found."])
