"""The trace a caller names: the header of the W3C, of which the id of the trace is taken."""

import re

_FORM = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?P<trace>(?!0{32})[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?", re.ASCII
)


def trace_of(traceparent: str | None) -> str | None:
    """None for what is no such header: a caller's mistake there breaks nothing."""
    found = _FORM.fullmatch(traceparent or "")
    return found["trace"] if found else None
