"""What a decision sees: a session, or a run that ends, as it stands under its lock."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from roost.core.effects import Effects
from roost.core.exchanges import Completion, Exchange
from roost.core.firings import Firing
from roost.core.inbound import InboundRecord
from roost.core.keys import SessionKey
from roost.core.labels import Namesake
from roost.core.messages import UNCOUNTED, Usage
from roost.core.runs import Run
from roost.core.sessions import Generation, Session
from roost.core.threads import ThreadBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A session as it stands under its lock.

    `running` is its one running run, `queued` those waiting, oldest first; `pending` are the inputs no run
    has taken, `merged` what fell out of the queue into them, both in order of arrival; `children` are
    completions still owed to this session. It has `yielded` while a turn of it goes on when some of them have ended.
    """

    key: SessionKey
    session: Session | None = None
    generation: Generation | None = None
    running: Run | None = None
    queued: tuple[Run, ...] = ()
    pending: tuple[InboundRecord, ...] = ()
    merged: tuple[InboundRecord, ...] = ()
    children: tuple[Completion, ...] = ()
    yielded: bool = False

    def carried(self, record: InboundRecord) -> tuple[InboundRecord, ...]:
        """A message that waits behind all that was merged into it, also through others: they have one end."""
        ends = {record.inbound.id}
        # A message is merged only into one that came later.
        for one in reversed(self.merged):
            if one.merged_into in ends:
                ends.add(one.inbound.id)
        return (*(one for one in self.merged if one.inbound.id in ends), record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Children of one turn, as one of them sees it: the run that spawned them, and what is owed of the others."""

    run: Run | None = None
    siblings: tuple[Completion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Labour:
    """What went into a child's task: since when it is at work, and what all calls of its session used."""

    began: int | None = None
    used: Usage = UNCOUNTED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """A run that ends, and all that its end may touch.

    `exchange`: what it serves; `partner` is the session on the other side, `sender` the run that began it, or the one that
    goes on in that one's place. `awaited`: what it sent by a call that has no result yet.
    `completion`: what is owed to `requester` about its end; `labour` is what its task took so far.
    `spawned`: its own children; `shared`: children at work that other runs at the same task spawned.
    `firing`: what it was started for; `audience`: the session it posts into.
    `left_at`: until when the gateway that had it was there.
    """

    run: Run
    session: Snapshot
    exchange: Exchange | None = None
    completion: Completion | None = None
    batch: Batch = Batch()
    requester: Snapshot | None = None
    labour: Labour = Labour()
    partner: Snapshot | None = None
    sender: Run | None = None
    awaited: Exchange | None = None
    spawned: tuple[Completion, ...] = ()
    shared: tuple[Completion, ...] = ()
    firing: Firing | None = None
    audience: Snapshot | None = None
    left_at: int | None = None

    @property
    def called_off(self) -> bool:
        """Whether whoever began the exchange was stopped."""
        return self.sender is not None and self.sender.called_off

    @property
    def reset_away(self) -> bool:
        """Whether the generation the run began in is closed: its words belong to none that is open."""
        session, began_in = self.session.session, self.run.session_id
        return session is not None and began_in is not None and session.session_id != began_in


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnSnapshot:
    """A session that would spawn, and what a child of it may collide with. `bound`: whose the thread is that its run
    answers in; `namesakes`: who else of its owner's has one of the labels that are asked for."""

    requester: Snapshot
    bound: ThreadBinding | None = None
    namesakes: tuple[Namesake, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeSnapshot:
    """An exchange with its target, and the run in which the turn stands that began it."""

    exchange: Exchange
    target: Snapshot
    sender: Run | None = None

    @property
    def called_off(self) -> bool:
        """Whether whoever began it was stopped."""
        return self.sender is not None and self.sender.called_off


Decide: TypeAlias = Callable[[Snapshot], Effects]
DecideSpawn: TypeAlias = Callable[[SpawnSnapshot], Effects]
DecideExchange: TypeAlias = Callable[[ExchangeSnapshot], Effects]
Advance: TypeAlias = Callable[[RunSnapshot], Effects]
