"""What a run works with, from the configuration."""

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import TypeAlias

from roost.app.toolpolicies import ToolTurn, is_sandboxed, level_of, level_passed_on, policy_of, spawns_of
from roost.config import Loaded, policies
from roost.config.agents import Agent
from roost.config.casting import persona
from roost.core.casting import Casting, cast
from roost.core.errors import Forbidden, NotFound
from roost.core.keys import SessionKey
from roost.core.rights import Rights
from roost.core.runs import Run, RunKind
from roost.core.sessions import Session
from roost.core.systemtext import child_rules, system_text
from roost.core.terms import Terms
from roost.core.toolpolicy import Removed, effective_tools
from roost.core.tools import Place
from roost.core.visibility import Level
from roost.core.workspacefiles import WorkspaceFile, file_names, notes_file, personal_names
from roost.engine.rules import Answerer, Briefing, Part
from roost.models.demo import SPEC as DEMO
from roost.models.registry import Registry
from roost.ports import Tool
from roost.sandboxes.bubblewrap import Bubblewrap
from roost.tools.bootstrap import workspace_files
from roost.tools.edit import Edit
from roost.tools.exec import Exec
from roost.tools.list_files import ListFiles
from roost.tools.notes import Notes
from roost.tools.read import Read
from roost.tools.write import Write

SessionTools: TypeAlias = Callable[[Agent, Level], tuple[Tool, ...]]


class Director:
    """Puts together what a run works with: model, system text, tools and the place where they act."""

    def __init__(
        self,
        loaded: Loaded,
        models: Registry,
        zone: tzinfo,
        session_tools: SessionTools,
    ) -> None:
        self._loaded = loaded
        self._settings = loaded.settings
        self._models = models
        self._zone = zone
        self._session_tools = session_tools
        self._agents = {one.id: one for one in self._settings.agents.list}
        self._personas = {name: persona(one, DEMO) for name, one in self._agents.items()}
        self._workspaces = {name: loaded.workspace(one) for name, one in self._agents.items()}
        self._sandbox = Bubblewrap()
        self._apart: set[tuple[int, int]] = set()
        self._context = policies.context(self._settings)
        self._caps = policies.file_caps(self._settings)

    def cast(self, session: Session, run: Run) -> Part:
        agent = self._agent(run.key)
        casting = cast(run.request, session, self._personas[agent.id], self._models.catalogue)
        place = self._place(agent, session)
        every = self._every_tool(run, agent, session, place)
        turn = ToolTurn(session=session, run=run, model=casting.player.spec.ref)
        tools, removed = self._allowed(every, agent, turn, place)
        spawns = spawns_of(agent, session)
        caps = self._caps.within(casting.player.spec.context_window)
        shared, at = file_names(session), run.started_at or run.queued_at
        everything = workspace_files(place, (*shared, *personal_names(session, at, self._zone)), caps)

        def briefing(files: tuple[WorkspaceFile, ...]) -> Briefing:
            text = system_text(
                agent.id,
                workspace=place.workspace,
                tools=tuple(tool.spec.name for tool in tools),
                files=files,
                child=child_rules(session, spawns) if session.lineage.parent else (),
            )
            return Briefing(system=text, files=files)

        common = briefing(everything[: len(shared)])
        return Part(
            model=self._models.model(casting.player.spec),
            spec=casting.player.spec,
            reason=casting.reason,
            system=common.system,
            place=place,
            tools=tools,
            thinking=casting.player.thinking,
            removed=removed,
            fallbacks=tuple(
                Answerer(
                    model=self._models.model(one.spec),
                    spec=one.spec,
                    thinking=one.thinking,
                    without=self._barred(tools, agent, replace(turn, model=one.spec.ref), place),
                )
                for one in casting.fallbacks
            ),
            files=common.files,
            personal=briefing(everything),
            rights=Rights(
                allow=frozenset(tool.spec.name for tool in tools),
                sandboxed=place.sandboxed,
                network=place.network or not place.sandboxed,
                level=level_passed_on(self._settings, agent, session, sandboxed=place.sandboxed),
                spawns=spawns,
            ),
            context=self._context,
            summariser=self._summariser(casting),
        )

    def _agent(self, key: SessionKey) -> Agent:
        """Who plays a session; the one global session names nobody and is played by the default agent."""
        name = key.agent or self._settings.agents.default.id
        agent = self._agents.get(name)
        if agent is None:
            raise NotFound(f"there is no agent {name}", hint="add it to `agents.list`")
        return agent

    def _summariser(self, casting: Casting) -> Answerer:
        """Who condenses a context: the model that is configured for it, or the one that answers."""
        own = self._settings.agents.defaults.compaction
        spec = self._models.catalogue.find(own.model) if own.model else casting.player.spec
        thinking = own.thinking_level if spec.reasoning else None
        return Answerer(model=self._models.model(spec), spec=spec, thinking=thinking)

    def _place(self, agent: Agent, session: Session) -> Place:
        terms = session.lineage.terms or Terms()
        configured = is_sandboxed(agent, session.key, self._settings.session.main_key)
        sandboxed = configured or terms.rights.sandboxed
        folder = self._workspaces[agent.id]
        self._refuse_private(folder, _ensured(folder))
        workspace = str(_within(folder, terms.folder))
        if not sandboxed:
            return Place(workspace=workspace)
        return Place(
            workspace=workspace,
            access=agent.sandbox.workspace_access,
            sandboxed=True,
            network=agent.sandbox.network and terms.rights.network,
            limits=policies.sandbox_limits(agent),
        )

    def _refuse_private(self, folder: Path, found: os.stat_result) -> None:
        """A folder may have become a link since the configuration was read; every one that it leads to is looked into once."""
        which = (found.st_dev, found.st_ino)
        if which in self._apart:
            return
        if kept := self._loaded.kept_in(folder):
            raise Forbidden(f"{kept} lies in the workspace {folder}", hint="see `agents.list[].workspace`")
        self._apart.add(which)

    def _every_tool(self, run: Run, agent: Agent, session: Session, place: Place) -> tuple[Tool, ...]:
        if run.request.kind is RunKind.FLUSH:
            return (Read(), Notes(notes_file(run.queued_at, self._zone)))
        return (
            Read(),
            Write(),
            Edit(),
            ListFiles(),
            Exec(self._sandbox, sandboxed=place.sandboxed),
            *self._session_tools(agent, level_of(self._settings, session)),
        )

    def _allowed(
        self, every: tuple[Tool, ...], agent: Agent, turn: ToolTurn, place: Place
    ) -> tuple[tuple[Tool, ...], tuple[Removed, ...]]:
        """A run that saves notes may do that and nothing else."""
        if turn.run.request.kind is RunKind.FLUSH:
            return every, ()
        policy = policy_of(self._settings, agent, turn, sandboxed=place.sandboxed)
        effective = effective_tools((tool.spec.name for tool in every), policy)
        return tuple(tool for tool in every if tool.spec.name in effective.names), effective.removed

    def _barred(self, tools: tuple[Tool, ...], agent: Agent, turn: ToolTurn, place: Place) -> frozenset[str]:
        """Those of the tools that may not be used when another model plays on."""
        return frozenset(one.name for one in self._allowed(tools, agent, turn, place)[1])


def _ensured(folder: Path) -> os.stat_result:
    """A folder that is there, also if it was not before."""
    try:
        found = os.stat(folder)
    except FileNotFoundError:
        found = None
    if found is None or not stat.S_ISDIR(found.st_mode):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = os.stat(folder)
    return found


def _within(workspace: Path, folder: str | None) -> Path:
    """A folder of a workspace, wherever its links lead."""
    if folder is None:
        return workspace
    found = (workspace / folder).resolve()
    if not found.is_dir() or not found.is_relative_to(workspace.resolve()):
        raise NotFound(f"there is no folder {folder!r} in the workspace", hint="make it first")
    return found
