import pytest

from roost.core.egress import WebAddress, refuse_private, target
from roost.core.errors import Forbidden, InvalidInput


@pytest.mark.parametrize(
    ("url", "parts", "authority"),
    [
        ("https://example.org", ("https", "example.org", 443, "/"), "example.org"),
        ("http://Example.org:8080/a?b=c#d", ("http", "example.org", 8080, "/a?b=c"), "example.org:8080"),
        ("https://[2001:db8::1]/x", ("https", "2001:db8::1", 443, "/x"), "[2001:db8::1]"),
    ],
)
def test_a_web_address_is_read_in_parts(url: str, parts: tuple[str, str, int, str], authority: str) -> None:
    scheme, host, port, path = parts
    found = target(url)
    assert found == WebAddress(scheme=scheme, host=host, port=port, path=path)
    assert found.authority == authority


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "file:///etc/passwd",
        "gopher://example.org",
        "https://",
        "https://user:pw@example.org",
        "https://@example.org",
        "https://example.org:99999",
        "https://example.org:0",
        "https://[::1",
        "https://exa mple.org",
        "https://example.org/\n",
        "https://exämple.org",
        "https://example.org/" + "a" * 2_000,
    ],
)
def test_what_is_no_plain_web_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="no web address"):
        target(url)


@pytest.mark.requirement("S14")
@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1"),
        *("255.255.255.255", "224.0.0.1", "192.0.2.1", "240.0.0.1"),
        *("::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "64:ff9b::a00:1"),
        "not-an-address",
    ],
)
def test_an_address_that_is_not_everybodys_is_refused(address: str) -> None:
    with pytest.raises(Forbidden, match="example"):
        refuse_private("example.org", address)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::5db8:d822"]
)
def test_a_public_address_may_be_reached(address: str) -> None:
    refuse_private("example.org", address)


def test_a_network_that_is_listed_may_be_reached() -> None:
    refuse_private("host", "198.18.0.5", ("fd00::/8", "198.18.0.0/15"))
    refuse_private("host", "fd00::1", ("fd00::/8",))
    with pytest.raises(Forbidden):
        refuse_private("host", "10.0.0.1", ("198.18.0.0/15",))
