"""What a bundle says of sessions beside their transcripts, as JSON and back: an index in the form that imports read, with
what Roost knows besides; and what each call of a model cost.

Read, it is untrusted: a right is at most narrowed by it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, JsonValue, as_count, as_object, as_optional, as_text
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import Principal
from roost.core.rights import Rights, meet
from roost.core.runs import RunKind
from roost.core.sessions import Base, Generation, OpenedBy, Session, SessionStatus
from roost.core.terms import SpawnMode, Terms
from roost.core.visibility import Level
from roost.transfer.cleaning import Clean, masked_fields
from roost.transfer.index import as_line
from roost.transfer.paths import is_session_id

Choice = TypeVar("Choice", bound=StrEnum)

MOST = 10**12
"""Of a token or a millionth of a dollar in one call: a million of them can still be added up."""

_READING: JsonValue = ["list", "read"]
_ENDED = frozenset(
    {
        SessionStatus.DONE,
        SessionStatus.FAILED,
        SessionStatus.KILLED,
        SessionStatus.TIMEOUT,
        SessionStatus.INTERRUPTED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledGeneration:
    """One transcript: its id, its file if anything is in it, and why it was opened, where."""

    session_id: str
    file: str | None
    opened_at: int
    opened_by: OpenedBy
    rule: str | None = None
    base: Base | None = None
    archived: bool = False


# -- writing -----------------------------------------------------------------------------------------


def session_to_json(session: Session, generations: Sequence[JsonObject], clean: Clean) -> JsonObject:
    """What is text is cleaned; ids, keys and moments are as they are."""
    labels, origin, times = session.labels, session.origin, session.times
    texts: JsonObject = {
        "label": labels.label,
        "displayName": labels.display_name,
        "subject": labels.subject,
        "room": labels.room,
        "space": labels.space,
        "origin": {
            "label": origin.label,
            "provider": origin.provider,
            "surface": origin.surface,
            "chatType": origin.chat_type and str(origin.chat_type),
            "from": origin.sender,
            "to": origin.to,
            "accountId": origin.account,
            "threadId": origin.thread,
        },
        "modelOverride": session.overrides.model,
        "thinkingLevel": session.overrides.thinking,
        "terms": None if session.lineage.terms is None else _terms_to_json(session.lineage.terms),
    }
    parent = session.lineage.parent
    return {
        **masked_fields(texts, clean),
        "sessionId": session.session_id,
        "spawnedBy": None if parent is None else str(parent),
        "ofOwner": session.owner.is_owner,
        "status": str(session.status),
        "createdAt": times.created,
        "updatedAt": times.updated,
        "sessionStartedAt": times.started,
        "lastInteractionAt": times.interacted,
        "archivedAt": times.archived,
        "pinnedAt": times.pinned,
        "contextTokens": session.counters.context_window,
        "generations": generations,
    }


def generation_to_json(one: Generation, file: str | None, clean: Clean) -> JsonObject:
    return {
        "sessionId": one.session_id,
        "file": file,
        "openedAt": one.opened_at,
        "openedBy": str(one.opened_by),
        "rule": None if one.rule is None else clean(one.rule),
        "base": None if one.base is None else {"sessionId": one.base.session_id, "seq": one.base.seq},
        "archived": one.archived,
    }


def call_to_json(row: LedgerRow, clean: Clean) -> JsonObject:
    """Who asked for it stays here."""
    return {
        "id": row.id,
        "at": row.at,
        "key": str(row.key),
        "sessionId": row.session_id,
        "runId": row.run_id,
        "runKind": str(row.run_kind),
        "provider": clean(row.provider),
        "model": clean(row.model),
        "usage": [*row.usage],
        "estimated": row.estimated,
    }


def _terms_to_json(terms: Terms) -> JsonObject:
    rights = terms.rights
    return {
        "task": terms.task,
        "taskName": terms.task_name,
        "mode": str(terms.mode),
        "model": terms.model,
        "thinking": terms.thinking,
        "allow": None if rights.allow is None else sorted(rights.allow),
        "deny": sorted(rights.deny),
        "sandboxed": rights.sandboxed,
        "network": rights.network,
        "level": rights.level,
    }


# -- reading -----------------------------------------------------------------------------------------


def generations_from_json(said: JsonObject) -> Iterator[BundledGeneration]:
    """Those that have an id."""
    for one in map(as_object, _listed(said.get("generations"))):
        session_id, base = as_text(one.get("sessionId")), as_object(one.get("base"))
        if not is_session_id(session_id):
            raise InvalidInput("a transcript in the bundle has no id", hint="bundle the session again")
        yield BundledGeneration(
            session_id=session_id,
            file=as_optional(one.get("file")),
            opened_at=as_count(one.get("openedAt")),
            opened_by=_one_of(OpenedBy, one.get("openedBy"), OpenedBy.IMPORT),
            rule=as_line(one.get("rule")),
            base=Base(session_id=as_text(base.get("sessionId")), seq=as_count(base.get("seq")))
            if base
            else None,
            archived=one.get("archived") is True,
        )


def status_from_json(said: JsonObject) -> SessionStatus:
    """How it ended; nothing is running or waiting here."""
    status = _one_of(SessionStatus, said.get("status"), SessionStatus.IDLE)
    return status if status in _ENDED else SessionStatus.IDLE


def terms_from_json(said: JsonObject) -> Terms:
    """Where nothing is said, as narrow as terms can be."""
    level = as_count(said.get("level"))
    allow = said.get("allow", _READING)
    narrowed = Rights(
        allow=None if allow is None else frozenset(map(as_text, _listed(allow))),
        deny=frozenset(map(as_text, _listed(said.get("deny")))),
        sandboxed=said.get("sandboxed") is not False,
        network=said.get("network") is True,
        level=Level(min(level, Level.TREE)),
    )
    return Terms(
        rights=meet(Rights(), narrowed),
        mode=_one_of(SpawnMode, said.get("mode"), SpawnMode.RUN),
        task=as_line(said.get("task")) or "",
        task_name=as_line(said.get("taskName")),
        model=as_line(said.get("model")),
        thinking=as_line(said.get("thinking")),
    )


def call_from_json(said: JsonObject, key: SessionKey, owner: Principal) -> LedgerRow:
    """A call of a session that is whose it is here."""
    call_id = as_line(said.get("id"))
    counts = [as_count(one) for one in _listed(said.get("usage"))]
    if call_id is None or any(one > MOST for one in counts):
        raise InvalidInput(
            "a call in the bundle has no id, or figures that cannot be", hint="bundle the session again"
        )
    return LedgerRow(
        id=call_id,
        at=as_count(said.get("at")),
        key=key,
        session_id=as_line(said.get("sessionId")) or "",
        principal=owner,
        run_id=as_line(said.get("runId")) or "",
        run_kind=_one_of(RunKind, said.get("runKind"), RunKind.TURN),
        provider=as_line(said.get("provider")) or "",
        model=as_line(said.get("model")) or "",
        usage=Usage(*counts[: len(Usage._fields)]),
        estimated=said.get("estimated") is True,
    )


def _one_of(kind: type[Choice], value: JsonValue, otherwise: Choice) -> Choice:
    try:
        return kind(as_text(value))
    except ValueError:
        return otherwise


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else ()
