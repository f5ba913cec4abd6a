"""An agent whose sessions may spawn, look after their children and wait for them."""

from roost.core.delegation import Delegation
from roost.core.keys import CHILD_KINDS
from roost.core.models import ModelRef, ModelSpec
from roost.core.reach import SessionReach
from roost.core.rights import Rights
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.spawnwishes import ChildAgent, Models, SpawnRules
from roost.core.terms import Terms
from roost.core.tools import Place
from roost.core.visibility import Level
from roost.engine.rules import Cast, Part
from roost.engine.stops import Stops
from roost.ports import Clock, Model, Store
from roost.scanners.stdlib import StdlibScanner
from roost.tools.access import Access
from roost.tools.sessions_spawn import SessionsSpawn
from roost.tools.sessions_yield import SessionsYield
from roost.tools.subagents import Subagents

SPEC = ModelSpec(ref=ModelRef("scripted", "one"), context_window=100_000, max_tokens=4_096)
DEPTH = 2
CHILDREN = 5

RULES = SpawnRules(
    delegation=Delegation(agent="main"),
    agents=("main",),
    child=lambda agent, depth: ChildAgent(
        rights=Rights(spawns=max(DEPTH - depth, 0)), model=None, own_model=str(SPEC.ref)
    ),
    models=Models(ask_for=lambda name: SPEC, find=lambda name: SPEC),
    max_depth=DEPTH,
    max_children=CHILDREN,
)


def family(store: Store, clock: Clock, model: Model) -> tuple[Stops, Cast]:
    """Who plays the runs of one life of a gateway, and what ends them."""
    stops = Stops()
    access = Access(store, clock, SessionReach(agent="main", level=Level.TREE))
    tools = (
        SessionsSpawn(access, RULES),
        SessionsYield(access),
        Subagents(access, StdlibScanner(), stops.end),
    )

    def cast(session: Session, run: Run) -> Part:
        child = session.key.kind in CHILD_KINDS
        left = (session.lineage.terms or Terms()).rights.spawns if child else DEPTH
        return Part(
            model=model,
            spec=SPEC,
            reason="the only model",
            system="You are a test.",
            place=Place(workspace="/nonexistent"),
            tools=tools if left else (),
            rights=Rights(spawns=left),
        )

    return stops, cast
