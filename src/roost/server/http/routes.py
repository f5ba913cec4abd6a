"""Which page lies where."""

from starlette.routing import Route

from roost.server.auth import Authenticator
from roost.server.house import House
from roost.server.http import completions, probes, tools
from roost.server.http.assets import Assets
from roost.server.http.completions import Completions
from roost.server.http.entry import Entry, PeerOf
from roost.server.http.hooks import HookPage
from roost.server.http.offers import READ, WRITE
from roost.server.http.pages import Page
from roost.server.http.probes import Probes
from roost.server.http.tools import Tools


def routes(house: House, authenticator: Authenticator, peer_of: PeerOf) -> list[Route]:
    entry = Entry(house, authenticator, peer_of)
    probe, agents, tool = Probes(house, entry, peer_of), Completions(house, entry), Tools(house, entry)
    hooks, assets = HookPage(house, peer_of), Assets()
    pages = {
        "/": Page(READ, assets.index),
        "/favicon.svg": Page(READ, assets.file),
        "/assets/{name}": Page(READ, assets.file),
        "/licenses.md": Page(READ, assets.file),
        f"{house.engine.rules.house.hooks.path}/{{name}}": Page(WRITE, hooks.call),
    }
    offered = (
        (probes.LIVE, probe.live),
        (probes.READY, probe.ready),
        (probes.STARTED, probe.started),
        (probes.FIGURES, probe.figures),
        (completions.MODELS, agents.models),
        (completions.MODEL, agents.model),
        (completions.COMPLETE, agents.complete),
        (tools.INVOKE, tool.invoke),
    )
    pages |= {path: Page(offer.verbs, answer) for offer, answer in offered for path in offer.paths}
    return [Route(path, page) for path, page in pages.items()]
