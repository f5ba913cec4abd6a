"""Reaching out, past a network that is not there: what would have been asked, and where."""

from collections.abc import Callable, Sequence

import httpx2
import pytest

from roost.core.errors import Forbidden, InvalidInput
from roost.egress import MOST_HOPS, WebEgress, owners_client, resolved
from roost.ports import Unanswered, Unreached
from roost.testing.fake_http import FakeEndpoint, Reply

PUBLIC, OTHER = "93.184.216.34", "93.184.216.35"
Answer = Callable[[httpx2.Request], httpx2.Response]


class Web:
    """Names and what answers there; every name may change its mind each time it is looked up."""

    def __init__(self, answer: Answer, **names: Sequence[Sequence[str]]) -> None:
        self.names = {name.replace("_", "."): list(found) for name, found in names.items()}
        self.asked: list[httpx2.Request] = []
        self._answer = answer

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        if host not in self.names:
            raise OSError("no such name")
        found = self.names[host]
        return found.pop(0) if len(found) > 1 else found[0]

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        return self._answer(request)

    def egress(self, *allowed: str) -> WebEgress:
        return WebEgress(lambda: allowed, self.resolve, httpx2.MockTransport(self.handle))


def status(code: int, **headers: str) -> Answer:
    return lambda request: httpx2.Response(code, headers=headers)


async def test_it_is_posted_to_the_address_that_was_judged_under_the_name_that_was_given() -> None:
    web = Web(status(204), example_org=[[PUBLIC]])
    assert await web.egress().post("https://example.org:8443/in?x=1", b"{}", {"X-A": "b"}) == 204
    (request,) = web.asked
    assert str(request.url) == f"https://{PUBLIC}:8443/in?x=1"
    assert (request.method, request.headers["host"], request.headers["x-a"], request.content) == (
        "POST",
        "example.org:8443",
        "b",
        b"{}",
    )
    assert request.extensions["sni_hostname"] == "example.org"


@pytest.mark.requirement("S14")
async def test_a_name_that_changes_its_mind_is_reached_where_it_was_judged() -> None:
    web = Web(status(200), example_org=[[PUBLIC], ["127.0.0.1"]])
    assert await web.egress().post("http://example.org/", b"", {}) == 200
    assert [request.url.host for request in web.asked] == [PUBLIC]
    with pytest.raises(Forbidden, match=r"127\.0\.0\.1"):
        await web.egress().post("http://example.org/", b"", {})
    assert len(web.asked) == 1


@pytest.mark.requirement("S14")
@pytest.mark.parametrize("addresses", [["10.0.0.1"], [PUBLIC, "10.0.0.1"], ["::ffff:127.0.0.1"]])
async def test_a_private_address_among_others_is_refused_before_anything_is_sent(
    addresses: list[str],
) -> None:
    web = Web(status(200), example_org=[addresses])
    with pytest.raises(Forbidden, match="not a public address"):
        await web.egress().post("https://example.org", b"", {})
    assert web.asked == []
    allowed = web.egress("10.0.0.0/8", "127.0.0.0/8")
    assert await allowed.post("https://example.org", b"", {}) == 200


@pytest.mark.requirement("S14")
async def test_where_it_is_sent_on_to_is_judged_again() -> None:
    web = Web(
        lambda request: httpx2.Response(
            307,
            headers={"location": f"http://{'inside' if request.url.path == '/2' else 'example.org'}.test/2"},
        ),
        example_org=[[PUBLIC]],
        example_org_test=[[OTHER]],
        inside_test=[["169.254.169.254"]],
    )
    with pytest.raises(Forbidden, match=r"169\.254"):
        await web.egress().post("http://example.org/1", b"x", {})
    assert [(request.url.host, request.method) for request in web.asked] == [
        (PUBLIC, "POST"),
        (OTHER, "POST"),
    ]


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://user@example.org/"])
async def test_it_is_not_sent_on_to_what_is_no_web_address(location: str) -> None:
    web = Web(status(307, location=location), example_org=[[PUBLIC]])
    with pytest.raises(InvalidInput):
        await web.egress().post("http://example.org/", b"", {})


@pytest.mark.parametrize("moved", [301, 302, 303])
async def test_an_answer_that_does_not_send_it_on_is_the_answer(moved: int) -> None:
    web = Web(status(moved, location="/end"), example_org=[[PUBLIC]])
    assert await web.egress().post("http://example.org/", b"secret", {}) == moved
    assert len(web.asked) == 1


async def test_a_circle_ends() -> None:
    web = Web(status(308, location="/"), example_org=[[PUBLIC]])
    with pytest.raises(Forbidden, match="sent on"):
        await web.egress().post("http://example.org/", b"", {})
    assert len(web.asked) == MOST_HOPS + 1


async def test_a_redirect_to_nowhere_is_an_answer() -> None:
    assert await Web(status(308), example_org=[[PUBLIC]]).egress().post("http://example.org/", b"", {}) == 308


async def test_who_cannot_be_reached_was_sent_nothing() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    web = Web(refuse, example_org=[[PUBLIC]], empty=[[]])
    for host in ("example.org", "unknown.org", "empty"):
        with pytest.raises(Unreached, match=host):
            await web.egress().post(f"http://{host}/", b"", {})


async def test_who_gives_no_answer_may_have_taken_it() -> None:
    def hang(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("late")

    with pytest.raises(Unanswered, match=r"no answer came: ReadTimeout\('late'\)"):
        await Web(hang, example_org=[[PUBLIC]]).egress().post("http://example.org/", b"", {})


async def test_names_are_looked_up_by_the_system() -> None:
    assert set(await resolved("localhost", 80)) <= {"127.0.0.1", "::1"}


@pytest.mark.requirement("S14")
@pytest.mark.parametrize(
    "elsewhere",
    [
        "http://127.0.0.1:{other}/v1",
        "http://localhost:{port}/v1",
        "https://127.0.0.1:{port}/v1",
        "http://169.254.169.254/latest/meta-data",
    ],
)
async def test_what_the_owner_configured_is_reached_on_this_machine_and_leads_nowhere_else(
    elsewhere: str,
) -> None:
    async with FakeEndpoint() as server, FakeEndpoint() as other:
        home, away = httpx2.URL(server.url), httpx2.URL(other.url)
        location = elsewhere.format(port=home.port, other=away.port)
        moved = Reply(status=307, headers=(("location", location),))
        client = owners_client(home, timeout=httpx2.Timeout(10), kept=1)
        server.add(moved)
        answer = await client.post(f"{home}/v1", json={})
        assert (answer.status_code, answer.headers["location"]) == (307, location)
        # Not even for a library that follows on its own.
        server.add(moved)
        with pytest.raises(httpx2.UnsupportedProtocol, match="not the configured address"):
            await client.post(f"{home}/v1", json={}, follow_redirects=True)
        await client.aclose()
        assert other.requests == []
