"""Keys of sessions that no chat message opens: timers, webhooks, nodes and children."""

from dataclasses import replace

from roost.core.errors import InvalidInput
from roost.core.keys import KeyKind, SessionKey
from roost.core.principals import Principal


def cron_key(agent: str, job: str) -> SessionKey:
    """The session of a job."""
    return SessionKey(agent=agent, kind=KeyKind.CRON, name=job)


def child_key(agent: str, uuid: str) -> SessionKey:
    """A child session; its parent and its depth are not in its key."""
    return SessionKey(agent=agent, kind=KeyKind.SUBAGENT, name=uuid)


def node_key(agent: str, node_id: str, requested: str | None = None) -> SessionKey:
    """The session of a node, or the one it asks for among its agent's."""
    if requested is not None:
        return named_key(agent, requested)
    return SessionKey(agent=agent, kind=KeyKind.NODE, name=node_id)


def is_own(principal: Principal, key: SessionKey) -> bool:
    """Whether this is the session of the node that asks, which it may open."""
    return principal.is_node and key == node_key(key.agent, principal.id)


def hook_key(
    agent: str, uuid: str, requested: str | None = None, prefixes: tuple[str, ...] = ()
) -> SessionKey:
    """The session of a webhook call: a new one, or the one asked for if a prefix allows it.

    `requested` is the text after all templating, so that no payload can spell its way out of the prefixes.
    """
    if requested is None:
        return SessionKey(agent=agent, kind=KeyKind.HOOK, name=uuid)
    key = named_key(agent, requested)
    name = str(key).removeprefix(f"agent:{agent}:").lower()
    if not any(_under(name, prefix.strip().lower()) for prefix in prefixes):
        raise InvalidInput(
            f"a hook may not use the session {name}", hint="see hooks.allowedSessionKeyPrefixes"
        )
    return key


def _under(name: str, prefix: str) -> bool:
    """A name that is all prefix names nothing below it."""
    return bool(prefix) and name.startswith(prefix) and not (name == prefix and prefix.endswith(":"))


def named_key(agent: str, requested: str) -> SessionKey:
    """The key a text asks for, as a session of this agent whatever agent it names."""
    text = requested.strip()
    if text[:6].lower() == "agent:":
        return replace(SessionKey.parse(text), agent=agent)
    return SessionKey.parse(f"agent:{agent}:{text}")
