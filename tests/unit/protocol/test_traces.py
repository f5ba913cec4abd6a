"""Traces that callers name."""

import pytest

from roost.protocol.traces import trace_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    "header", [f"00-{TRACE}-00f067aa0ba902b7-01", f"01-{TRACE}-00f067aa0ba902b7-00-more"]
)
def test_the_trace_of_a_header_is_taken(header: str) -> None:
    assert trace_of(header) == TRACE


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        TRACE,
        f"ff-{TRACE}-00f067aa0ba902b7-01",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-00f067aa0ba902b7-01",
        f"00-{TRACE}-00f067aa0ba902b7-01\n",
    ],
)
def test_what_is_no_such_header_names_none(header: str | None) -> None:
    assert trace_of(header) is None
