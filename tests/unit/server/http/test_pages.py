"""How requests are turned away."""

import pytest

from roost.core.errors import Forbidden, InvalidInput, KeyTaken, NotFound, RoostError, StoreUnavailable
from roost.server.http.pages import Turned, turned_away


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("no"), 404),
        (Forbidden("no"), 403),
        (InvalidInput("no"), 400),
        (KeyTaken("no"), 409),
        (StoreUnavailable("no"), 503),
    ],
)
def test_each_refusal_has_its_status(error: RoostError, status: int) -> None:
    assert turned_away(error).response.status_code == status


def test_who_must_wait_is_told_how_long_in_whole_seconds() -> None:
    response = Turned(429, "Too many attempts", "rate_limited", retry_ms=1_001).response
    assert (response.status_code, response.headers["retry-after"]) == (429, "2")
    assert response.body == b'{"error":{"message":"Too many attempts","type":"rate_limited"}}'
