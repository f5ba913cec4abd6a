"""However pairing goes, nobody ends with a scope that was not his to have."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.devices import Devices, Issuer, approve, issue, knock, rotate
from roost.core.errors import Forbidden
from roost.core.grants import Scope, grant, holds
from roost.core.principals import OWNER
from tests.scale import examples
from tests.unit.core.test_devices import request

SCOPES = st.lists(st.sampled_from(Scope), unique=True).map(tuple)


@pytest.mark.requirement("S3", "S4")
@settings(max_examples=examples(200, 20_000), deadline=None)
@given(wanted=SCOPES, approver=SCOPES, rotated=st.none() | SCOPES, issuer=SCOPES, asked=SCOPES)
def test_issued_scopes_are_within_the_issuers_the_grant_and_the_request(
    wanted: Sequence[Scope],
    approver: Sequence[Scope],
    rotated: Sequence[Scope] | None,
    issuer: Sequence[Scope],
    asked: Sequence[Scope],
) -> None:
    devices, _ = knock(Devices(), request(scopes=wanted))
    try:
        devices, device = approve(devices, "r-d-0", Issuer(principal=OWNER, scopes=approver), 1)
    except Forbidden:
        assert not all(holds(approver, one) for one in wanted)
        return
    assert all(holds(approver, one) and one in wanted for one in device.scopes)
    found = issue(devices, "d", "t", 2)
    assert found is not None
    try:
        _, device = rotate(found[0], "d", rotated, "u", by=Issuer(principal=OWNER, scopes=issuer), now=3)
    except Forbidden:
        return
    assert device.token is not None
    for one in device.token.scopes:
        assert holds(issuer, one)
        assert holds(wanted, one)
        assert rotated is None or one in rotated
    assert all(one in asked and holds(device.token.scopes, one) for one in grant(asked, device.token.scopes))
