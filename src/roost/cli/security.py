"""`roost security audit`: what the configuration and its files leave open to others."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter

from roost.app.auditing import close_files
from roost.app.inspecting import inspected
from roost.cli.here import LOCAL, Local
from roost.cli.show import answer
from roost.core.findings import Finding, Severity
from roost.protocol.convert.operations import audit_result

app = App(name="security", help="What is left open to others.")


@app.command
async def audit(
    *,
    fix: Annotated[bool, Parameter(help="Close files that others can read or write.")] = False,
    here: Local = LOCAL,
) -> int:
    """Look through the configuration, its files and where a gateway listens; 1 while something critical is left."""
    loaded = here.loaded()
    fixed = close_files(loaded) if fix else ()
    found = await inspected(loaded)
    answer(here, {**audit_result(found), "fixed": list(fixed)}, _text(found, fixed))
    return 1 if any(one.severity is Severity.CRITICAL for one in found) else 0


def _text(found: Sequence[Finding], fixed: Sequence[str]) -> str:
    lines = [f"fixed     {one}" for one in fixed]
    for one in found:
        lines += [f"{one.severity:<9} {one.text}", f"          {one.id}; {one.setting}: {one.fix}"]
    return "\n".join(lines or ["Nothing was found."])
