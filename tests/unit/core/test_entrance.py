"""Pages, names and proxies."""

import pytest

from roost.core.entrance import (
    Entrance,
    ProxyLogin,
    RequestSource,
    host_allowed,
    origin_allowed,
    source,
    throttled_by,
)
from roost.core.principals import OWNER

LISTED = Entrance(
    origins=frozenset({"https://home.example:8443", "https://plain.example"}), hosts=frozenset({"box.lan"})
)


@pytest.mark.requirement("S2")
@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://localhost:3000", True),
        ("https://app.localhost", True),
        ("http://127.0.0.1:18789", True),
        ("http://[::1]:18789", True),
        ("https://home.example:8443", True),
        ("https://HOME.example:8443", True),
        ("https://home.example", False),
        ("http://home.example:8443", False),
        ("https://evil.example", False),
        ("https://localhost.evil.example", False),
        ("https://evil-localhost", False),
        ("null", False),
        ("", False),
        ("file://", False),
        ("http://localhost@evil.example", False),
        ("http://user@localhost", False),
        ("http://[::1", False),
        ("http://localhost:port", False),
        ("http://localhost/path", False),
        ("chrome-extension://abc", False),
    ],
)
def test_a_page_of_this_machine_or_a_listed_one_may_connect(origin: str, *, allowed: bool) -> None:
    assert origin_allowed(origin, "127.0.0.1:18789", LISTED) is allowed


@pytest.mark.requirement("S2")
def test_the_gateways_own_page_may_connect_unless_its_name_was_made_up() -> None:
    assert origin_allowed("http://192.168.1.5:18789", "192.168.1.5:18789", LISTED)
    assert origin_allowed("http://box.lan:18789", "BOX.lan:18789", LISTED)
    assert not origin_allowed("http://192.168.1.6:18789", "192.168.1.5:18789", LISTED)
    assert not origin_allowed("http://rebound.example:18789", "rebound.example:18789", LISTED)
    assert not origin_allowed("http://box.lan:18789", None, LISTED)


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1:18789", True),
        ("[::1]:18789", True),
        ("10.0.0.1", True),
        ("localhost", True),
        ("localhost.:1", True),
        ("box.lan:18789", True),
        ("home.example:8443", True),
        ("plain.example", True),
        ("rebound.example", False),
        ("", False),
        ("a b", False),
        ("x/y", False),
    ],
)
def test_a_name_that_is_not_listed_is_nobodys(host: str, *, allowed: bool) -> None:
    assert host_allowed(host, LISTED) is allowed


@pytest.mark.requirement("S19")
def test_forwarded_headers_count_from_listed_proxies_only() -> None:
    plain = [("host", "x")]
    assert source("127.0.0.1", plain, ()) == RequestSource(address="127.0.0.1", local=True)
    assert source("10.0.0.9", plain, ()) == RequestSource(address="10.0.0.9", local=False)
    assert source(None, plain, ()) == RequestSource(address="", local=False)
    said = [("x-forwarded-for", "6.6.6.6, 203.0.113.7, 10.0.0.2")]
    assert source("127.0.0.1", said, ()) == RequestSource(address="127.0.0.1", local=False, vouched=False)
    assert source(None, said, ("10.0.0.0/8",)) == RequestSource(address="", local=False, vouched=False)
    assert source("10.0.0.1", said, ("10.0.0.0/8", "::1")) == RequestSource(
        address="203.0.113.7", local=False
    )
    assert source("10.0.0.1", [("via", "1.1 p")], ("10.0.0.0/8",)) == RequestSource(
        address="10.0.0.1", local=False
    )
    local = [("x-forwarded-for", "127.0.0.1")]
    assert not source("10.0.0.1", local, ("10.0.0.0/8",)).local


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("unix", "unix"),
    ],
)
def test_a_network_of_the_new_kind_is_counted_as_one(address: str, counted: str) -> None:
    assert throttled_by(address) == counted


LOGIN = ProxyLogin(proxies=("10.0.0.0/8",), header="x-user", owners=frozenset({"ada"}))


@pytest.mark.requirement("S19")
def test_a_name_counts_from_a_listed_proxy_that_says_it_once() -> None:
    said = [("x-user", " ada ")]
    assert LOGIN.named("10.0.0.1", said) == "ada"
    for peer, headers in (
        ("127.0.0.1", said),
        (None, said),
        ("10.0.0.1", []),
        ("10.0.0.1", [("x-user", " ")]),
        ("10.0.0.1", [*said, ("x-user", "bob")]),
        ("10.0.0.1", [("x-other", "ada")]),
    ):
        assert LOGIN.named(peer, headers) is None


@pytest.mark.requirement("S19", "S21")
def test_whom_a_proxy_names_is_who_the_configuration_says() -> None:
    assert LOGIN.principal("ada") == OWNER
    assert LOGIN.principal("mallory") is None
    assert ProxyLogin(proxies=("10.0.0.0/8",), header="x-user").principal("") is None
