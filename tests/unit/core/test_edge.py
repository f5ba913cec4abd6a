"""What an audit says of the port."""

import pytest

from roost.core.edge import Edge, edge_findings
from roost.core.findings import Finding, Severity

LISTED = "gateway.trusted_proxies"
LOCAL = "gateway.trusted_proxies_loopback"
WIDE = "gateway.trusted_proxies_wide"


def told(edge: Edge) -> dict[str, Finding]:
    return {one.id: one for one in edge_findings(edge)}


@pytest.mark.parametrize(
    ("edge", "ids"),
    [
        (Edge(), set()),
        (Edge(auth=False), {"gateway.loopback_no_auth"}),
        (
            Edge(auth=False, loopback=False, encrypted=True),
            {"gateway.bind_no_auth"},
        ),
        (Edge(loopback=False), {"gateway.bind_clear_text"}),
        (Edge(token_length=23, password_length=24), {"gateway.token_too_short"}),
        (Edge(token_length=24, password_length=1), {"gateway.password_too_short"}),
        (Edge(attempts_a_minute=61), {"gateway.auth_rate_limit_loose"}),
        (Edge(proxies=("10.0.0.7/32",)), {LISTED}),
        (Edge(completions=True), {"gateway.http.chat_completions_enabled"}),
    ],
)
def test_the_edge_is_looked_at(edge: Edge, ids: set[str]) -> None:
    assert set(told(edge)) == ids


def test_what_reaches_the_network_is_worse() -> None:
    inside, outside = Edge(completions=True), Edge(completions=True, loopback=False, encrypted=True)
    (near,), (far,) = edge_findings(inside), edge_findings(outside)
    assert (near.severity, far.severity) == (Severity.INFO, Severity.WARN)


@pytest.mark.requirement("S19")
@pytest.mark.parametrize(
    "network",
    ["127.0.0.1/32", "127.1.2.0/24", "126.0.0.0/7", "::1/128", "::/120", "::ffff:7f00:1/128"],
)
def test_where_a_proxy_names_people_from_this_machine_every_program_is_the_owner(network: str) -> None:
    finding = told(Edge(proxies=("10.0.0.7/32", network), proxy_logins=True))[LOCAL]
    assert (finding.severity, finding.setting) == (Severity.CRITICAL, "gateway.trustedProxies")
    assert network in finding.text
    assert "10.0.0.7" not in finding.text
    assert "address of its own" in finding.fix
    assert "`gateway.auth.mode` to `token`" in finding.fix


@pytest.mark.parametrize(
    "edge",
    [
        Edge(proxies=("127.0.0.1/32", "::1/128")),
        Edge(proxies=("10.0.0.7/32", "128.0.0.0/24", "::2/128", "fd00::/120"), proxy_logins=True),
    ],
    ids=["it names nobody", "it is elsewhere"],
)
def test_a_proxy_that_names_nobody_or_is_elsewhere_makes_no_program_the_owner(edge: Edge) -> None:
    assert set(told(edge)) == {LISTED}


@pytest.mark.parametrize("network", ["0.0.0.0/1", "10.0.0.0/23", "fd00::/64"])
@pytest.mark.parametrize(
    ("names", "says"), [(True, "who somebody is"), (False, "where a request comes from")]
)
def test_a_network_of_more_addresses_than_proxies_have_is_found(
    network: str, *, names: bool, says: str
) -> None:
    finding = told(Edge(proxies=("10.0.0.7/32", network), proxy_logins=names))[WIDE]
    assert (finding.severity, finding.setting) == (Severity.WARN, "gateway.trustedProxies")
    assert network in finding.text
    assert says in finding.text
    assert ("`gateway.auth.mode` to `token`" in finding.fix) is names
    assert WIDE not in told(Edge(proxies=("10.0.0.0/24",), proxy_logins=names))
