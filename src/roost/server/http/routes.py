"""Which page lies where."""

from starlette.routing import Route

from roost.server.auth import Authenticator
from roost.server.house import House
from roost.server.http.assets import Assets
from roost.server.http.completions import Completions
from roost.server.http.entry import Entry, PeerOf
from roost.server.http.hooks import HookPage
from roost.server.http.pages import READ, WRITE, Page
from roost.server.http.probes import Probes
from roost.server.http.tools import Tools


def routes(house: House, authenticator: Authenticator, peer_of: PeerOf) -> list[Route]:
    entry = Entry(house, authenticator, peer_of)
    probes, agents, tools = Probes(house, entry, peer_of), Completions(house, entry), Tools(house, entry)
    assets = Assets()
    pages = {
        "/": Page(READ, assets.index),
        "/favicon.svg": Page(READ, assets.file),
        "/assets/{name}": Page(READ, assets.file),
        "/licenses.md": Page(READ, assets.file),
        "/healthz": Page(READ, probes.live),
        "/health": Page(READ, probes.live),
        "/readyz": Page(READ, probes.ready),
        "/ready": Page(READ, probes.ready),
        "/startupz": Page(READ, probes.started),
        "/metrics": Page(READ, probes.figures),
        "/v1/models": Page(READ, agents.models),
        "/v1/models/{name:path}": Page(READ, agents.model),
        "/v1/chat/completions": Page(WRITE, agents.complete),
        "/tools/invoke": Page(WRITE, tools.invoke),
    }
    hooks = HookPage(house, peer_of)
    pages[f"{house.engine.rules.house.hooks.path}/{{name}}"] = Page(WRITE, hooks.call)
    return [Route(path, page) for path, page in pages.items()]
