"""What the one who imports decides: how names are read, who people are, how much is taken in."""

from dataclasses import dataclass, field

from roost.core.channeltraits import KNOWN_CHANNELS, Traits
from roost.core.identities import Links
from roost.core.keys import SessionKey
from roost.core.ownership import Ownership
from roost.transfer.index import key_named
from roost.transfer.lines import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """`now` is the moment of the import. `agent` is whose sessions a folder holds that does not say so itself, `agents`
    are those that there are; None: whichever it names. The others are the configuration's, never the folder's."""

    now: int
    agent: str | None = None
    agents: frozenset[str] | None = None
    main_name: str = "main"
    owners: tuple[str, ...] = ()
    links: Links = ()
    traits: Traits = KNOWN_CHANNELS
    limits: Limits = field(default_factory=Limits)

    @property
    def ownership(self) -> Ownership:
        return Ownership(main_name=self.main_name, owners=self.owners, links=self.links, traits=self.traits)

    def key(self, agent: str, name: str, provider: str | None = None) -> SessionKey:
        """The key that an agent's index calls by this name."""
        return key_named(name, agent, self.main_name, self.traits, provider)
