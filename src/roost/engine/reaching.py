"""From a chat or a key to its session. A key leads past the one guard: every door for people goes through here."""

from roost.core import routing
from roost.core.envelopes import Envelope
from roost.core.errors import NotFound
from roost.core.facts import facts_of
from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.refusals import refusal
from roost.core.routing import Route, RoutingRules
from roost.core.sessions import Session
from roost.core.sources import is_own
from roost.core.visibility import Caller, Decision, Denied, Operation, PersonCaller, Target, absent, decide
from roost.ports import Store


async def routed(
    store: Store,
    envelope: Envelope,
    principal: Principal,
    rules: RoutingRules,
    known: SessionKey | None = None,
) -> Route:
    """Where a message goes: to the `known` session of its thread, or by the rules, but never to another's."""
    found = routing.route(envelope, principal, rules, known)
    if known is not None or not routing.is_by_name(found.key):
        return found
    session = await store.session(found.key)
    facts = facts_of(found, envelope, rules.main_name)
    if session is None or not routing.is_anothers(session, principal, facts):
        return found
    return routing.apart(found, envelope, principal, rules)


async def reach(
    store: Store, operation: Operation, caller: Caller, key: SessionKey, at: int
) -> Session | None:
    """The session under a key if the caller may do this to it. None if there is none, for who may have any, and for a
    node whose own it would be; everyone else is told the same as of one that is not theirs. A refusal is recorded."""
    session = await store.session(key)
    if isinstance(caller, PersonCaller):
        opens = session is None and is_own(caller.principal, key)
        if caller.rules_all or opens:
            return session
    decision: Decision = absent(caller)
    if session is not None:
        target = Target(
            key=key,
            agent=key.agent,
            owner=session.owner,
            ancestors=await store.ancestors(key),
            participants=await store.participants(key) if session.facts.shared else frozenset(),
        )
        decision = decide(operation, caller, target)
    if isinstance(decision, Denied):
        record = refusal(operation, caller, decision, str(key), at)
        if record is not None:
            await store.record_denial(record)
        raise decision.error()
    return session


async def existing(store: Store, operation: Operation, caller: Caller, key: SessionKey, at: int) -> Session:
    """The session under a key, which must be there."""
    session = await reach(store, operation, caller, key, at)
    if session is None:
        raise NotFound(f"No session found: {key}")
    return session
