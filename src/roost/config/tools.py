"""`tools`: what agents may use, and whom the session tools may reach."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from roost.config.amounts import ByteSize
from roost.config.frozen import FrozenMap
from roost.config.section import Loc, Section, Takes, about
from roost.config.spelling import Flag, Positive, Size, Text, Texts, word
from roost.core.toolpolicy import Profile
from roost.core.visibility import Level


class ToolScope(Section):
    """One stage of the tool policy. An empty list is a list: it allows nothing."""

    profile: Annotated[Profile | None, about("The set to begin with. Unset: `full`.")] = None
    allow: Annotated[Texts | None, about("Only these tools; not together with `alsoAllow`.")] = None
    also_allow: Annotated[Texts | None, about("Tools added to the profile; not together with `allow`.")] = (
        None
    )
    deny: Annotated[Texts, about("Tools removed; wins over every `allow`.")] = ()

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.allow is not None and self.also_allow is not None:
            yield ("alsoAllow",), "`allow` already says which tools there are: keep one of the two"


class ToolRules(ToolScope):
    by_provider: Annotated[FrozenMap[Text, ToolScope], about("The same, for runs on one model provider.")] = (
        FrozenMap()
    )


class SessionTools(Section):
    visibility: Annotated[
        Level,
        word(
            Level.parse, tuple(level.name.lower() for level in Level), write=lambda level: level.name.lower()
        ),
        about("Which sessions the session tools may reach."),
    ] = Level.TREE


class AgentToAgent(Section):
    enabled: Annotated[Flag, about("Whether `visibility: all` reaches other agents' sessions.")] = False
    allow: Annotated[
        Texts,
        about(
            "The agents that may reach each other, by id or `*` pattern, and `remote:` with the name of another gateway. "
            "Empty: none."
        ),
    ] = ()


class ChildToolLists(Section):
    allow: Annotated[
        Texts | None, about("Only these; brings back session tools other than `sessions_spawn`.")
    ] = None
    deny: Annotated[Texts, about("Tools removed; wins over `allow`.")] = ()


class ChildTools(Section):
    tools: Annotated[ChildToolLists, about("Tools of children.")] = ChildToolLists()


class SpawnAttachments(Section):
    enabled: Annotated[Flag, about("Whether a spawn may hand files to its child.")] = False
    max_total_bytes: Annotated[Size, about("Size of all files of one spawn.")] = ByteSize(5 << 20)
    max_files: Annotated[Positive, about("Files of one spawn.")] = 50
    max_file_bytes: Annotated[Size, about("Size of one file.")] = ByteSize(1 << 20)
    retain_on_session_keep: Annotated[Flag, about("Whether they stay as long as the child's session.")] = (
        False
    )


class SpawnTool(Section):
    attachments: Annotated[SpawnAttachments, about("Changes nothing: no files are handed to a child.")] = (
        SpawnAttachments()
    )


class Tools(ToolRules):
    sessions: Annotated[SessionTools, about("The session tools.")] = SessionTools()
    agent_to_agent: Annotated[AgentToAgent, about("Access across agents.")] = AgentToAgent()
    subagents: Annotated[ChildTools, about("What sub-agents may use.")] = ChildTools()
    sessions_spawn: Annotated[
        SpawnTool, Field(alias="sessions_spawn"), about("The tool `sessions_spawn`.", Takes.NEXT_RUN)
    ] = SpawnTool()
