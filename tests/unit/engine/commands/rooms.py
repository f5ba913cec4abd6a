"""A chat with an inbox behind it: what is said is accepted, and a command's answer is read from its record."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from roost.channels.loopback import EVERYTHING, LoopbackChannel
from roost.core.addresses import ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.catalogue import Catalogue
from roost.core.channels import ChannelAbilities
from roost.core.effects import AcceptInput, Effect, Effects, OpenSession, OweCompletion, QueueRun
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.exchanges import Completion
from roost.core.inbound import InputMode
from roost.core.keys import KeyKind, SessionKey
from roost.core.models import ModelRef, ModelSpec
from roost.core.principals import OWNER, Principal
from roost.core.runs import Lane, Request, Run
from roost.core.sessions import Session
from roost.core.snapshots import Snapshot
from roost.engine.census import Census
from roost.engine.ids import FreshIds
from roost.engine.inbox import Inbox, TurnedAway
from roost.engine.rulebook import Rulebook
from roost.engine.rules import CommandRules
from roost.engine.stops import Stops
from roost.ports import Accepted, Store
from roost.scanners.stdlib import StdlibScanner
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.flows.gateways import SPEC
from tests.snapshots import snapshot
from tests.unit.engine.scenes import HOME, Scene, everything

THINKER = ModelSpec(
    ref=ModelRef("scripted", "thinker"), context_window=200_000, max_tokens=4_096, reasoning=True
)
OPEN = ChannelPolicy(
    dm_policy=DmPolicy.OPEN,
    group_policy=GroupPolicy.OPEN,
    require_mention=False,
    owner_ids=("loopback:ada",),
)


@dataclass
class Room:
    """Ada is the owner. Everybody may write, directly or in the group."""

    scene: Scene = field(default_factory=Scene)
    stops: Stops = field(default_factory=Stops)
    said: int = 0
    abilities: ChannelAbilities = EVERYTHING
    serves: str = "loopback"
    inbox: Inbox = field(init=False)

    def __post_init__(self) -> None:
        models = Catalogue([SPEC, THINKER], aliases={"quick": SPEC.ref})
        commands = CommandRules(models=models, agents=("main", "ops"), scanner=StdlibScanner())
        self.change(doors={"loopback": OPEN}, commands=commands)

    @property
    def store(self) -> Store:
        return self.scene.store

    def change(self, **parts: object) -> None:
        self.scene.rules = replace(self.scene.rules, **parts)  # type: ignore[arg-type]
        book = Rulebook(self.scene.rules)
        self.inbox = Inbox(
            self.store,
            self.scene.clock,
            FreshIds(self.scene.clock),
            book,
            self.stops,
            [LoopbackChannel(name=self.serves, abilities=self.abilities)],
            Census(self.store, self.scene.clock, book),
        )

    def command_rules(self, **parts: object) -> None:
        self.change(commands=replace(self.scene.rules.commands, **parts))  # type: ignore[arg-type]

    def envelope(
        self, text: str, who: str = "ada", *, group: str | None = None, thread: str | None = None
    ) -> Envelope:
        self.said += 1
        kind = ChatType.GROUP if group else ChatType.DIRECT
        return Envelope(
            channel="loopback",
            sender=Sender(id=who, name=who.title()),
            conversation=Conversation(chat_type=kind, peer=group or who, thread=thread),
            text=text,
            external_id=f"e{self.said}",
        )

    async def accepted(self, text: str, who: str = "ada", *, group: str | None = None) -> Accepted:
        accepted = await self.inbox.receive(self.envelope(text, who, group=group))
        assert not isinstance(accepted, TurnedAway)
        return accepted

    async def ask(self, text: str, who: str = "ada", *, group: str | None = None) -> str:
        """The answer to a command."""
        record = (await self.accepted(text, who, group=group)).record
        assert record.answer is not None, f"{text} was taken for a message"
        return record.answer

    async def session(self, key: SessionKey = MAIN) -> Session:
        session = await self.store.session(key)
        assert session is not None
        return session

    async def snapshot(self, key: SessionKey = MAIN, *effects: Effect) -> Snapshot:
        await self.store.change_session(key, lambda snapshot: effects)
        return await snapshot(self.store, key)

    async def claimed(self) -> tuple[Run, ...]:
        """Everything that waits, under way."""
        self.scene.lease = await self.store.acquire_lease(HOME)
        return await self.store.claim_runs(self.scene.lease, everything)

    async def spawn(self, name: str, parent: SessionKey = MAIN, *, owner: Principal = OWNER) -> SessionKey:
        """A child with its first run queued, and its parent owed an answer."""
        key = SessionKey(agent="main", kind=KeyKind.SUBAGENT, name=name)
        row = builders.session(key, at=self.scene.clock.now(), owner=owner, parent=parent)._replace()
        run = builders.run(f"run-{name}", key, request=Request(lane=Lane.SUBAGENT))
        task = replace(builders.inbound(f"task-{name}", key, text=f"do {name}"), reply_to=None)
        owed = Completion(
            child_run=run.id, child=key, requester=parent, batch="batch", created_at=self.scene.clock.now()
        )
        effects: Iterable[Effect] = (
            OpenSession(session=row, generation=builders.generation(key, f"gen-{name}")),
            QueueRun(run=run),
            AcceptInput(inbound=task, run_id=run.id, mode=InputMode.OPEN),
            OweCompletion(completion=owed),
        )

        def decide(snapshot: Snapshot) -> Effects:
            return tuple(effects)

        await self.store.change_session(key, decide)
        return key
