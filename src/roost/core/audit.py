"""What is dangerous about a gateway's settings. Findings only: nothing here refuses or changes anything."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from roost.core.admission import ANYONE, GroupPolicy
from roost.core.doors import Door, door_findings
from roost.core.edge import SHORTEST_TOKEN, Edge, edge_findings
from roost.core.findings import Finding, Severity, in_order
from roost.core.routing import RoutingRules
from roost.core.scopes import SessionScope
from roost.core.visibility import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDoor:
    """`shared_token`: callers of hooks have the owner's own token."""

    enabled: bool = False
    token_length: int = 0
    shared_token: bool = False
    any_agent: bool = False
    default_session: bool = True
    names_sessions: bool = False
    prefixes: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Who may reach whose sessions.

    `placeless_owners`: those of the `owners` that name no channel.
    `lifted`, `networked`: agents whose sandboxed sessions reach all sessions, and the network.
    `unconfined`: agents without a sandbox.
    `clear`: providers that are spoken to in clear text beyond this machine; `clear_store`: the database's server, too.
    """

    visibility: Level = Level.TREE
    crosses: bool = False
    across: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    placeless_owners: tuple[str, ...] = ()
    lifted: tuple[str, ...] = ()
    networked: tuple[str, ...] = ()
    unconfined: tuple[str, ...] = ()
    clear: tuple[str, ...] = ()
    clear_store: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The settings as far as danger lies in them; `routing` says where messages go that come in by the doors."""

    edge: Edge = field(default_factory=Edge)
    hooks: HookDoor = field(default_factory=HookDoor)
    doors: tuple[Door, ...] = ()
    routing: RoutingRules = field(default_factory=RoutingRules)
    trust: Trust = field(default_factory=Trust)


def audit(view: View) -> tuple[Finding, ...]:
    """Every finding, the worst first."""
    return in_order(
        (*edge_findings(view.edge), *_hooks(view), *door_findings(view.doors, view.routing), *_trust(view))
    )


def _hooks(view: View) -> Iterator[Finding]:
    hooks = view.hooks
    if not hooks.enabled:
        return
    exposed = Severity.WARN if view.edge.loopback else Severity.CRITICAL
    if hooks.token_length < SHORTEST_TOKEN:
        yield Finding(
            id="hooks.token_too_short",
            severity=Severity.WARN,
            text=f"The token of hooks has {hooks.token_length} characters and may be guessed.",
            setting="hooks.token",
            fix=f"use at least {SHORTEST_TOKEN} characters",
        )
    if hooks.shared_token:
        yield Finding(
            id="hooks.token_reuse_gateway_token",
            severity=Severity.CRITICAL,
            text="Who may call a hook is the owner.",
            setting="hooks.token",
            fix="give hooks a token of their own",
        )
    if not hooks.default_session:
        yield Finding(
            id="hooks.default_session_key_unset",
            severity=Severity.WARN,
            text="Each call of a hook opens a session of its own.",
            setting="hooks.defaultSessionKey",
            fix="name the session that hooks go to",
        )
    if hooks.any_agent:
        yield Finding(
            id="hooks.allowed_agent_ids_unrestricted",
            severity=exposed,
            text="A caller of a hook may run any agent, with its tools.",
            setting="hooks.allowedAgentIds",
            fix="name the agents",
        )
    if hooks.names_sessions and hooks.prefixes:
        yield Finding(
            id="hooks.request_session_key_enabled",
            severity=exposed,
            text="A caller of a hook chooses the session it speaks in.",
            setting="hooks.allowRequestSessionKey",
            fix="set it to false",
        )
    elif hooks.names_sessions:
        yield Finding(
            id="hooks.request_session_key_prefixes_missing",
            severity=Severity.INFO,
            text="Callers may name sessions, but no prefix says which: every name is refused.",
            setting="hooks.allowedSessionKeyPrefixes",
            fix="name a prefix such as `hook:`, or set `hooks.allowRequestSessionKey` to false",
        )


def _trust(view: View) -> Iterator[Finding]:
    trust, doors = view.trust, view.doors
    crowd = [one for one in doors if one.lets_in_anyone or one.hears_any_group]
    if crowd:
        bare = f" Agents without a sandbox: {', '.join(trust.unconfined)}." if trust.unconfined else ""
        yield Finding(
            id="security.trust_model.multi_user_heuristic",
            severity=Severity.WARN,
            text=f"People the owner does not know talk to agents ({', '.join(one.setting for one in crowd)}).{bare}",
            setting="agents.defaults.sandbox.mode",
            fix="set it to `all`, and close the doors that need not be open",
        )
    if view.routing.scope is SessionScope.GLOBAL and any(
        one.policy.group_policy is not GroupPolicy.DISABLED for one in doors
    ):
        yield Finding(
            id="security.trust_model.group_scope_main",
            severity=Severity.WARN,
            text="Groups speak in the same session as the owner.",
            setting="session.scope",
            fix="set it to `per-sender`",
        )
    if trust.crosses:
        anyone = ANYONE in trust.across and trust.visibility is Level.ALL
        yield Finding(
            id="security.trust_model.cross_agent_session_access_default",
            severity=Severity.WARN if anyone else Severity.INFO,
            text=f"Agents may reach each other's sessions: {', '.join(trust.across) or 'none is named yet'}.",
            setting="tools.agentToAgent.allow",
            fix="name only the agents that work together",
        )
    if ANYONE in trust.owners:
        yield Finding(
            id="commands.owner_allow_from_anyone",
            severity=Severity.CRITICAL,
            text="`*` stands in the list of those who are the owner.",
            setting="commands.ownerAllowFrom",
            fix="list your own ids",
        )
    if trust.placeless_owners:
        several = len({one.channel for one in doors}) > 1
        yield Finding(
            id="commands.owner_allow_from_any_channel",
            severity=Severity.CRITICAL if several else Severity.WARN,
            text=f"Whoever has one of these ids, on any channel, is the owner: {', '.join(trust.placeless_owners)}.",
            setting="commands.ownerAllowFrom",
            fix="write each as `channel:id`",
        )
    yield from _named(trust)


def _named(trust: Trust) -> Iterator[Finding]:
    if trust.lifted:
        yield Finding(
            id="agents.sandbox.session_tools_visibility_all",
            severity=Severity.WARN,
            text=f"Sandboxed sessions reach as far as others do: {', '.join(trust.lifted)}.",
            setting="agents.defaults.sandbox.sessionToolsVisibility",
            fix="set it to `spawned`",
        )
    if trust.networked:
        yield Finding(
            id="agents.sandbox.network_enabled",
            severity=Severity.INFO,
            text=f"Programs in a sandbox reach the network, this machine's own too: {', '.join(trust.networked)}.",
            setting="agents.defaults.sandbox.network",
            fix="set it to false",
        )
    if trust.clear:
        yield Finding(
            id="models.provider_clear_text",
            severity=Severity.WARN,
            text=f"Conversations are sent in clear text beyond this machine: {', '.join(trust.clear)}.",
            setting="models.providers.*.baseUrl",
            fix="use an `https://` address",
        )
    if trust.clear_store:
        yield Finding(
            id="database.clear_text",
            severity=Severity.WARN,
            text="Conversations and credentials may cross the network to the database's server in clear text.",
            setting="database",
            fix="add `sslmode=verify-full` to the address, and `sslrootcert` where its certificate is not publicly known",
        )
