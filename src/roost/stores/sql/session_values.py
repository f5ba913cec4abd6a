"""What rows of sessions and generations say, as values."""

from collections.abc import Sequence
from typing import Any

from roost.core.addresses import Address, ChatType, Origin
from roost.core.listing import NOTHING_GIVEN, Given, Glance
from roost.core.sessions import (
    Base,
    Counters,
    Facts,
    Generation,
    Labels,
    Lineage,
    OpenedBy,
    Overrides,
    Session,
    SessionKind,
    SessionStatus,
    Summary,
    Times,
)
from roost.core.terms import Terms
from roost.stores.codec import decode_shared, parse_key, parse_principal, sound


def _session(row: Any) -> Session:
    (_, key, owner, session_id, kind, channel, chat_type, account, peer, thread, rule) = row[:11]
    (parent, depth, terms, created, archived, pinned, labels, origin, route, overrides) = row[11:21]
    (started, updated, interacted, status, version, events, entries, title, preview, model) = row[21:31]
    # By place and without a constructor's call: most of what a list costs is this.
    return _made(
        Session,
        (
            parse_key(key),
            parse_principal(owner),
            session_id,
            _made(Facts, (_KINDS[kind], channel, _CHATS[chat_type], account, peer, thread, rule)),
            _made(Times, (created, updated, started, interacted, archived, pinned)),
            _lineage(parent, depth, terms) if parent else NOTHING_GIVEN.lineage,
            NOTHING_GIVEN.labels if labels == _DEFAULTS else decode_shared(Labels, labels),
            decode_shared(Origin, origin),
            decode_shared(Address, route) if route else None,
            NOTHING_GIVEN.overrides if overrides == _DEFAULTS else decode_shared(Overrides, overrides),
            _made(Counters, row[31:]),
            _made(Summary, (title, preview, entries, model)),
            _STATUSES[status],
            version,
            events,
        ),
    )


read_session = sound(_session)


@sound
def read_sessions(rows: Sequence[Any]) -> list[Session]:
    return [_session(row) for row in rows]


def _glance(row: Any) -> Glance:
    (key, session_id, kind, channel, chat_type, origin, labels, route, overrides, parent, depth, terms) = row[
        :12
    ]
    title, preview, model, status = row[18:22]
    return _made(
        Glance,
        (
            parse_key(key),
            session_id,
            _KINDS[kind],
            channel or (decode_shared(Origin, origin).provider if origin else None),
            _CHATS[chat_type],
            _given(labels, overrides, parent, depth, terms)
            if labels or overrides or parent
            else NOTHING_GIVEN,
            decode_shared(Address, route) if route else None,
            _made(Times, row[12:18]),
            title,
            preview,
            model,
            _STATUSES[status],
            _made(Counters, row[22:]),
        ),
    )


@sound
def read_glances(rows: Sequence[Any]) -> list[Glance]:
    return [_glance(row) for row in rows]


_made = tuple.__new__
_KINDS = {str(kind): kind for kind in SessionKind}
_CHATS: dict[str | None, ChatType | None] = {None: None, **{str(kind): kind for kind in ChatType}}
_STATUSES = {str(status): status for status in SessionStatus}
_DEFAULTS = "{}"


def _given(
    labels: str | None, overrides: str | None, parent: str | None, depth: int, terms: str | None
) -> Given:
    return Given(
        decode_shared(Labels, labels or _DEFAULTS),
        decode_shared(Overrides, overrides or _DEFAULTS),
        _lineage(parent, depth, terms) if parent else NOTHING_GIVEN.lineage,
    )


def _lineage(parent: str, depth: int, terms: str | None) -> Lineage:
    return Lineage(
        parent=parse_key(parent), depth=depth, terms=decode_shared(Terms, terms) if terms else None
    )


@sound
def read_generation(row: Any) -> Generation:
    (
        session_id,
        key,
        number,
        opened_at,
        opened_by,
        rule,
        previous,
        base_id,
        base_seq,
        entries,
        archived,
        header,
    ) = row
    return Generation(
        session_id=session_id,
        key=parse_key(key),
        number=number,
        opened_at=opened_at,
        opened_by=OpenedBy(opened_by),
        rule=rule,
        previous=previous,
        base=Base(session_id=base_id, seq=base_seq) if base_id else None,
        entries=entries,
        archived=bool(archived),
        header=header,
    )
