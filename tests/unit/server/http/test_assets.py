"""The files of the page."""

import gzip

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from roost.server.http.assets import FOR_EVER, Assets
from roost.server.http.offers import READ
from roost.server.http.pages import Page


@pytest.fixture
def http() -> httpx2.AsyncClient:
    assets = Assets()
    pages = {"/": assets.index, "/assets/{name}": assets.file, "/favicon.svg": assets.file}
    app = Starlette(routes=[Route(path, Page(READ, answer)) for path, answer in pages.items()])
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://gateway")


async def named(http: httpx2.AsyncClient) -> list[str]:
    """The files that the page loads at once."""
    page = (await http.get("/")).text
    return [part.split('"')[0] for part in page.split('="') if part.startswith("/assets/")]


async def test_the_page_names_its_files_and_each_is_kept_for_ever(http: httpx2.AsyncClient) -> None:
    index = await http.get("/")
    assert (index.status_code, index.headers["cache-control"]) == (200, "no-cache")
    assert index.headers["content-type"].startswith("text/html")
    files = await named(http)
    assert len(files) >= 2
    for file in files:
        found = await http.get(file)
        assert (found.status_code, found.headers["cache-control"]) == (200, FOR_EVER)
        assert found.headers["content-encoding"] == "gzip"
    assert (await http.get("/favicon.svg")).headers["content-type"] == "image/svg+xml"


async def test_whoever_has_a_file_already_is_not_sent_it_again(http: httpx2.AsyncClient) -> None:
    tag = (await http.get("/")).headers["etag"]
    again = await http.get("/", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


async def test_who_cannot_unpack_gets_the_file_as_it_is(http: httpx2.AsyncClient) -> None:
    plain = await http.get("/", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == (await http.get("/")).text


async def test_nothing_else_is_served(http: httpx2.AsyncClient) -> None:
    for path in ("/assets/nothing.js", "/assets/..%2fbuild.json"):
        assert (await http.get(path)).status_code == 404


async def test_no_script_but_the_gateways_own_runs_and_nobody_frames_the_page(
    http: httpx2.AsyncClient,
) -> None:
    index = await http.get("/")
    policy = dict(part.split(" ", 1) for part in index.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in index.headers["content-security-policy"]
    assert index.headers["referrer-policy"] == "no-referrer"
    assert "<script>" not in index.text
    assert " style=" not in index.text


async def test_the_first_load_has_at_most_300_kilobytes(http: httpx2.AsyncClient) -> None:
    texts = [(await http.get(path)).content for path in ("/", *await named(http))]
    assert sum(len(gzip.compress(text)) for text in texts) <= 300_000
