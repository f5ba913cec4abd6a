"""The row an imported conversation gets. Its owner and its facts follow from its key and from what the importer
configured, never from the import."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from roost.core.facts import chat_type, classify
from roost.core.imports import ImportedGeneration
from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import AssistantMessage, Usage
from roost.core.principals import OWNER, Principal
from roost.core.sessions import Counters, Facts, Lineage, Session, Times
from roost.transfer.index import IndexEntry, IndexTimes
from roost.transfer.options import ImportOptions

RULE = "an import"
_CHATS = frozenset({KeyKind.DIRECT, KeyKind.SLASH, KeyKind.GROUP, KeyKind.CHANNEL})
_UNKNOWN = IndexEntry(name="")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlace:
    """Where a conversation is put: its key, whose it is, and what it hangs under."""

    key: SessionKey
    owner: Principal
    lineage: Lineage = field(default_factory=Lineage)


def owner_of(key: SessionKey, options: ImportOptions, parent_owner: Principal | None = None) -> Principal:
    """Whose an imported conversation is. What its key leaves open is the gateway owner's."""
    return options.ownership.named(key, OWNER, parent_owner or OWNER)


def facts_of(key: SessionKey, main_name: str) -> Facts:
    return Facts(
        kind=classify(key, main_name),
        channel=key.channel,
        chat_type=chat_type(key),
        account=key.account,
        peer=key.name if key.kind in _CHATS else None,
        thread=key.thread or key.topic,
        rule=RULE,
    )


def session_row(
    place: ImportPlace,
    options: ImportOptions,
    generations: Iterable[ImportedGeneration],
    entry: IndexEntry | None,
    *,
    archived: bool,
) -> Session:
    """The row of a conversation with these transcripts; `entry` is what an index says of it, if anything."""
    said = entry or _UNKNOWN
    current = [generation for generation in generations if not generation.archived]
    return Session(
        key=place.key,
        owner=place.owner,
        session_id=current[-1].session_id,
        facts=facts_of(place.key, options.main_name),
        times=_times(said.times, current, options.now, archived=archived),
        lineage=place.lineage,
        labels=said.labels,
        origin=said.origin,
        overrides=said.overrides,
        counters=_counters(said.counters, current[-1]),
    )


def _times(said: IndexTimes, generations: list[ImportedGeneration], now: int, *, archived: bool) -> Times:
    """Nothing lies in the future. The time in the archive begins now, so that retention grants it in full."""
    spoken = [draft.body.at for generation in generations for draft in generation.drafts]
    updated = min(said.updated or max((at for at in spoken if at <= now), default=0) or now, now)
    started = min(said.started or generations[-1].opened_at or updated, updated)
    created = min(said.created or generations[0].opened_at or started, started)
    return Times(
        created=created,
        updated=updated,
        started=started,
        interacted=min(said.interacted or updated, now),
        archived=now if archived else None,
        pinned=min(said.pinned, now) if said.pinned and not archived else None,
    )


def _counters(said: Counters, current: ImportedGeneration) -> Counters:
    """A store counts the usage it is given; what an index says holds only where the transcript has none."""
    counted = any(
        isinstance(draft.body, AssistantMessage) and draft.body.usage != Usage() for draft in current.drafts
    )
    if counted:
        return Counters(context_window=said.context_window)
    return said._replace(compactions=0) if current.drafts else said
