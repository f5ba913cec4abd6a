"""Where everything is kept, and the only truth."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias, TypeVar

from roost.core.addresses import Account, Address
from roost.core.deliveries import Delivery, DeliveryState, SendResult
from roost.core.devices import Decide as DecideDevices
from roost.core.devices import Devices
from roost.core.entries import Entry, EntryDraft
from roost.core.events import Event
from roost.core.feeds import News
from roost.core.fleet import Fleet
from roost.core.guests import Decide as DecideGuests
from roost.core.guests import Guests
from roost.core.inbound import Accepted, Inbound, InboundRecord
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.ledger import Dearest, Denial, LedgerRow, LedgerTotal, Spent
from roost.core.parking import Rule
from roost.core.principals import Principal
from roost.core.queries import (
    EVERY_DENIAL,
    UTC_DAYS,
    Calendar,
    DenialQuery,
    HistoryPage,
    HistoryQuery,
    LedgerQuery,
    SearchHit,
    SearchQuery,
    SessionContext,
    SessionQuery,
    Span,
    Talk,
)
from roost.core.retention import Cutoffs, Fullness, Swept
from roost.core.runs import Claim, Run
from roost.core.seals import Sealing
from roost.core.sendpolicy import Judge, anything
from roost.core.sessions import Generation, Session
from roost.core.snapshots import Decide, DecideSpawn
from roost.core.threads import ThreadBinding
from roost.core.topics import Topic
from roost.core.trees import DecideTree
from roost.core.visibility import EVERYTHING, VisibleScope
from roost.core.workload import Workload
from roost.ports.exchanges import Exchanges
from roost.ports.imports import Imports
from roost.ports.jobs import Jobs
from roost.ports.lists import Lists
from roost.ports.points import Points
from roost.ports.runs import Runs

Found = TypeVar("Found")
Render: TypeAlias = Callable[[tuple[InboundRecord, ...]], tuple[EntryDraft, ...]]
Begin: TypeAlias = Callable[[tuple[Entry, ...]], LedgerRow | None]
Told: TypeAlias = Callable[[SessionKey], None]


class Store(Lists, Jobs, Points, Imports, Exchanges, Runs, Protocol):
    """The only truth. Every verb is one transaction: when it returns, it is durable; when it raises,
    nothing of it was written. Only `WriteUnknown` says that it was written whole or not at all, and not which.

    A verb that takes a function calls it under the session's lock with what it sees there and writes the
    effects it returns. The function is synchronous and pure, and may be called more than once.
    A verb that takes a claim or a lease raises `Fenced` when it is no longer held. `StoreUnavailable`
    means that trying again may work.
    """

    @property
    def exclusive(self) -> bool:
        """Whether one gateway owns the store at a time. Where not, all that hold a lease serve."""
        ...

    # -- lease ---------------------------------------------------------------------------------------

    async def acquire_lease(self, gateway: Gateway) -> Lease:
        """Become a gateway of this store, with a raised epoch: claims of older epochs are void at once.

        An exclusive store raises `LeaseHeld`, naming the owner, while another name's lease is live.
        """
        ...

    async def renew_lease(self, lease: Lease) -> Lease:
        """Extend by the full term, judged by the database's clock."""
        ...

    async def release_lease(self, lease: Lease) -> None:
        """End it at once; a lease already lost is no error."""
        ...

    async def gateways(self) -> tuple[Lease, ...]:
        """Every gateway that ever held a lease, by name."""
        ...

    async def fleet(self) -> Fleet:
        """The same, with the moment by which leases are judged, and who serves which channel."""
        ...

    async def host_channels(self, lease: Lease, accounts: Collection[Account]) -> frozenset[Account]:
        """Serve those of these channels that no other gateway serves; those that are this one's now. It keeps them until
        it leaves them or its lease is lost."""
        ...

    async def leave_channels(self, lease: Lease) -> None:
        """Let other gateways serve what this one serves."""
        ...

    # -- devices -------------------------------------------------------------------------------------

    async def devices(self) -> Devices: ...

    async def change_devices(self, decide: DecideDevices[Found]) -> Found:
        """Write the devices that `decide` leaves; what it found."""
        ...

    # -- guests --------------------------------------------------------------------------------------

    async def guests(self) -> Guests: ...

    async def change_guests(self, decide: DecideGuests[Found]) -> Found:
        """Write the guests that `decide` leaves, and wake who waits for news of them; what it found."""
        ...

    # -- sessions ------------------------------------------------------------------------------------

    async def session(self, key: SessionKey) -> Session | None: ...

    async def session_by_id(self, session_id: str) -> Session | None:
        """The session one of whose generations, current or closed, has this id."""
        ...

    async def ancestors(self, key: SessionKey) -> tuple[SessionKey, ...]:
        """Parent first, up to the top."""
        ...

    async def participants(self, key: SessionKey) -> frozenset[Principal]:
        """Who has spoken in a group that is not theirs, each once."""
        ...

    async def forks(self, key: SessionKey) -> tuple[SessionKey, ...]:
        """Other sessions that go on from what was said in this one, by key."""
        ...

    async def generations(self, key: SessionKey) -> tuple[Generation, ...]:
        """Oldest first, archived branches included."""
        ...

    async def change_session(self, key: SessionKey, decide: Decide) -> Session | None:
        """Write what `decide` asks for; the session after it."""
        ...

    async def spawn(self, key: SessionKey, decide: DecideSpawn, labels: frozenset[str] = frozenset()) -> None:
        """The same for a decision that opens children, with these labels: it sees what they may collide with, and no other
        spawn changes that meanwhile."""
        ...

    async def change_tree(self, key: SessionKey, decide: DecideTree) -> None:
        """The same for a decision that reaches the sessions below: it sees all their unfinished work."""
        ...

    async def thread_binding(self, address: Address) -> ThreadBinding | None: ...

    # -- transcript ----------------------------------------------------------------------------------

    async def append(
        self,
        key: SessionKey,
        drafts: tuple[EntryDraft, ...],
        *,
        claim: Claim | None = None,
        spent: tuple[LedgerRow, ...] = (),
    ) -> tuple[Entry, ...]:
        """Add entries to the current generation; with a claim, as steps of that run. The result of the tool call
        that is its newest step marks the step as done. What they were `spent` on is recorded with them."""
        ...

    async def entries(
        self, session_id: str, *, after: int = 0, through: int | None = None
    ) -> tuple[Entry, ...]:
        """Entries of one generation with `after` < seq <= `through`, in order."""
        ...

    async def conversation(self, session_id: str) -> SessionContext | None:
        """The session of a generation, its entries, after those of its bases, and whether it delegates."""
        ...

    async def history(self, query: HistoryQuery) -> HistoryPage:
        """The newest entries before a position, reading the key's generations as one timeline."""
        ...

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        """Entries that hold every phrase, newest first, of sessions in scope only."""
        ...

    async def spoken(self, query: SessionQuery, span: Span) -> Talk:
        """How much was said within a span, day by day, in all sessions that pages of this query would list."""
        ...

    # -- inbound -------------------------------------------------------------------------------------

    async def accept_inbound(self, inbound: Inbound, decide: Decide) -> Accepted:
        """Commit a message with everything that follows from it. One already accepted, by (channel, account, external
        id) or by (principal, session, idempotency key), is answered with the first acceptance, `decide` not called."""
        ...

    async def accept_command(self, inbound: Inbound, decide: DecideTree) -> Accepted:
        """The same for a message that may reach the sessions below: `decide` sees all their unfinished work."""
        ...

    async def inbound(self, inbound_id: str) -> InboundRecord | None: ...

    async def inbound_by_key(
        self, principal: Principal, key: SessionKey | None, idempotency_key: str
    ) -> InboundRecord | None:
        """What this principal sent to this session, or last to any, under its own key."""
        ...

    async def pending_inputs(self, key: SessionKey) -> tuple[InboundRecord, ...]:
        """What was said to a session and no run has taken yet, in order of arrival."""
        ...

    async def take_inputs(
        self, claim: Claim, render: Render, begin: Begin | None = None
    ) -> tuple[Entry, ...]:
        """Turn the run's pending inputs into entries, in order of arrival; () when there are none. `render` is also
        given what was merged into them, first. `begin` sees the entries and answers with the model call that is made
        next, which is recorded as by `begin_step`, or None. A run that was stopped, or whose session was reset under
        it, is `Fenced`: its words belong to no generation that is open."""
        ...

    # -- budgets -------------------------------------------------------------------------------------

    async def reserve(self, claim: Claim, names: tuple[str, ...], rule: Rule) -> Run:
        """Ask for the means of a model call. `rule` sees the run and the balances of these names, locked in order;
        the run as it is after it: no longer running if it has to wait. A call that holds its means already is
        not asked for again. `Fenced` for a run that was stopped or whose session began anew: neither may wait."""
        ...

    async def release(self, call_id: str) -> None:
        """Give back what a call holds that was not made; a call that holds nothing is no error."""
        ...

    async def wake_parked(self, lease: Lease) -> tuple[Run, ...]:
        """Every run that a budget keeps waiting is ready now; it is asked again whether it may go on."""
        ...

    def keep_out(self, secrets: Sealing) -> None:
        """From now on what is written holds no configured secret: the names of their settings stand in its texts."""
        ...

    # -- deliveries ----------------------------------------------------------------------------------

    def limit_messages(self, longest: Mapping[Account, int]) -> None:
        """From now on a message that is longer than its account takes is stored as several, in order, each with an
        id that follows from its own; parts without words are left out."""
        ...

    async def claim_deliveries(
        self, lease: Lease, limit: int, *, judge: Judge = anything, without: frozenset[Account] = frozenset()
    ) -> tuple[Delivery, ...]:
        """Take messages that are due, oldest first, as `sending`; at most one at a time per address.
        Those for the accounts in `without`, or that another gateway serves, are passed over. What `judge` does not allow is dismissed instead, with
        a denial about its run or itself."""
        ...

    async def unclaim_deliveries(self, lease: Lease, known: Collection[Claim]) -> tuple[Delivery, ...]:
        """The same for messages: they are to be sent, as if they had not been taken."""
        ...

    async def settle_delivery(self, claim: Claim, result: SendResult) -> Delivery:
        """What became of a message that was taken. The session of an announcement that is given up, here or by a word on
        it, is told so in the same transaction."""
        ...

    async def reap_deliveries(self, lease: Lease) -> tuple[Delivery, ...]:
        """Mark as uncertain what a gateway that is gone was sending."""
        ...

    async def resolve_delivery(self, seen: Delivery, state: DeliveryState, at: int) -> Delivery:
        """An operator's or a channel's word on an uncertain or failed one: confirmed, dismissed, failed, or intent
        to send again from `at` on; for a dismissed one only that. One that was taken since it was `seen` raises `Conflict`: the word was about another attempt."""
        ...

    async def delivery(self, delivery_id: str) -> Delivery | None: ...

    async def deliveries(
        self, state: DeliveryState, limit: int, scope: VisibleScope = EVERYTHING
    ) -> tuple[Delivery, ...]:
        """Of the sessions in scope, oldest first."""
        ...

    # -- facts ---------------------------------------------------------------------------------------

    async def record_usage(self, row: LedgerRow) -> None:
        """Add one model call and settle what it holds; a row already there, by id, is replaced only if it was an
        estimate. The call of a run that ends or is queued again before this becomes an estimate of what it held."""
        ...

    async def usage(self, query: LedgerQuery) -> LedgerTotal: ...
    async def spending(self, query: LedgerQuery, calendar: Calendar = UTC_DAYS) -> tuple[Spent, ...]:
        """The same, apart by day, agent and model; in that order."""
        ...

    async def dearest(self, query: LedgerQuery, limit: int) -> Dearest:
        """The same, apart by session, removed ones too."""
        ...

    async def ledger(self, query: LedgerQuery, *, offset: int, limit: int) -> tuple[LedgerRow, ...]:
        """The calls themselves, newest first."""
        ...

    async def record_denial(self, denial: Denial) -> None: ...

    async def denials(self, limit: int, query: DenialQuery = EVERY_DENIAL) -> tuple[Denial, ...]:
        """Newest first."""
        ...

    async def events(self, key: SessionKey, *, after: int, limit: int) -> tuple[Event, ...]:
        """The feed of a session, from the number after `after` on."""
        ...

    async def news(self, key: SessionKey, *, after: int, limit: int) -> News:
        """The same with the entries that these events name, all as they are at one moment."""
        ...

    async def wait_for(self, topic: Topic, check: Callable[[], Awaitable[Found | None]]) -> Found:
        """The first answer of `check` that is not None. It is asked at once and after each piece of news;
        news between asking and waiting is not missed."""
        ...

    def watch(self, key: SessionKey | None, told: Told) -> AbstractContextManager[None]:
        """Within the context, `told` is called on the event loop with the key of each session that has news, or of
        this one only: after the commit, and before whoever made it goes on. It may be told again of what it knows. It must be quick, and
        raise nothing."""
        ...

    def watch_ends(self, told: Told) -> AbstractContextManager[None]:
        """The same for every session of which a run may have come to its end, before or after it is told of as news."""
        ...

    def watch_for(self, topic: Topic, news: Callable[[], None]) -> AbstractContextManager[None]:
        """Within the context, `news` is called on the event loop whenever there may be some of a topic: after the commit,
        and before whoever made it goes on. It must be quick, and raise nothing."""
        ...

    # -- upkeep --------------------------------------------------------------------------------------

    async def sweep(self, cutoffs: Cutoffs, *, dry_run: bool = False) -> Swept:
        """Remove and archive what is past its time, in many small transactions; a dry run reports exactly what
        would go. What was touched meanwhile stays."""
        ...

    async def fullness(self) -> Fullness:
        """How much there is."""
        ...

    async def workload(self) -> Workload:
        """How much there is to do."""
        ...

    def deliveries_ended(self) -> Mapping[DeliveryState, int]:
        """How many came to their end through this store since it was opened, by how; one that is missing is 0."""
        ...

    async def give_back(self) -> int:
        """Return the space of what was removed to the disk, in many small transactions; how many bytes."""
        ...

    async def check(self) -> tuple[str, ...]:
        """What is wrong with the stored data; () when it is sound."""
        ...

    async def repair(self) -> tuple[str, ...]:
        """Make anew what follows from other rows; what was wrong and is right now. Removes nothing that was said."""
        ...

    async def close(self) -> None:
        """Finish what was accepted, then let go of everything."""
        ...
