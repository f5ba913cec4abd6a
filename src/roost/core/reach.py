"""How far the session tools of one run reach: its agent, and what the configuration says about looking elsewhere.

Who may see what is decided by `core.visibility`; this makes the caller that it decides about.
"""

from dataclasses import dataclass, field

from roost.core.channeltraits import KNOWN_CHANNELS, Traits
from roost.core.keys import KeyKind
from roost.core.references import Viewpoint
from roost.core.scopes import SessionScope
from roost.core.tools import Invocation
from roost.core.visibility import AgentCaller, AgentToAgent, Level


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReach:
    """`agent` is who plays the run: the key of the one global session names nobody."""

    agent: str
    level: Level = Level.TREE
    lifted: bool = False
    a2a: AgentToAgent = field(default_factory=AgentToAgent)
    main_name: str = "main"
    scope: SessionScope = SessionScope.PER_SENDER
    traits: Traits = KNOWN_CHANNELS

    @property
    def hidden(self) -> frozenset[KeyKind]:
        """The shapes of keys that no tool ever shows."""
        reserved = {KeyKind.UNKNOWN, KeyKind.GLOBAL}
        return frozenset(reserved - {KeyKind.GLOBAL} if self.scope is SessionScope.GLOBAL else reserved)

    def caller(self, invocation: Invocation) -> AgentCaller:
        """Who makes a call: the agent in its session, for the principal whose message caused the run."""
        return AgentCaller(
            agent=self.agent,
            key=invocation.key,
            principal=invocation.cause.principal,
            level=self.level,
            sandboxed=invocation.place.sandboxed,
            lifted=self.lifted,
            a2a=self.a2a,
        )

    def viewpoint(self, invocation: Invocation) -> Viewpoint:
        """From where a call reads and writes the names of sessions."""
        return Viewpoint(
            agent=self.agent,
            own=invocation.key,
            main_name=self.main_name,
            scope=self.scope,
            traits=self.traits,
        )
