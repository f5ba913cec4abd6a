"""The ways into a gateway for people, as an audit looks at them: who is let in, and who shares a conversation then.

Where somebody's words go is found by the very decisions that a message of his would meet.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from roost.core import admission
from roost.core.addresses import DEFAULT_ACCOUNT, ChatType
from roost.core.admission import ANYONE, Admitted, ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.bindings import choose
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.findings import Finding, Severity
from roost.core.identities import Naming
from roost.core.keys import SessionKey
from roost.core.principals import OWNER, UNKNOWN, Principal
from roost.core.routing import RoutingRules, is_by_name, route
from roost.core.scopes import SessionScope, main_key

_NOBODY = "?"
"""The id of one who is not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One account of a channel, and whom it lets in. `account` is None where the channel has only one."""

    channel: str
    policy: ChannelPolicy
    account: str | None = None

    @property
    def setting(self) -> str:
        own = f"channels.{self.channel}"
        return own if self.account is None else f"{own}.accounts.{self.account}"

    @property
    def takes_direct(self) -> bool:
        return self.policy.dm_policy is not DmPolicy.DISABLED

    @property
    def lets_in_anyone(self) -> bool:
        return self.takes_direct and (
            self.policy.dm_policy is DmPolicy.OPEN or ANYONE in self.policy.allow_from
        )

    @property
    def hears_any_group(self) -> bool:
        policy = self.policy
        return policy.group_policy is GroupPolicy.OPEN or (
            ANYONE in policy.group_allow_from and policy.group_policy is GroupPolicy.ALLOWLIST
        )


def door_findings(doors: tuple[Door, ...], rules: RoutingRules) -> Iterator[Finding]:
    for door in doors:
        yield from _open_to_anyone(door)
    open_to_direct = [one for one in doors if one.takes_direct]
    # Two agents may have the same to say of one channel.
    yield from {
        finding.id: finding
        for lot in _writers_by_session(open_to_direct, rules).values()
        for finding in _collisions(lot, rules)
    }.values()
    yield from _namesakes(open_to_direct, rules)


def _open_to_anyone(door: Door) -> Iterator[Finding]:
    if door.lets_in_anyone:
        yield Finding(
            id=f"channels.{door.channel}.dm.open",
            severity=Severity.CRITICAL,
            text=f"Anyone on {door.channel} can talk to the agent.",
            setting=f"{door.setting}.{'dmPolicy' if door.policy.dm_policy is DmPolicy.OPEN else 'allowFrom'}",
            fix="set `dmPolicy` to `pairing`, or list the people in `allowFrom`",
        )
    if door.hears_any_group:
        yield Finding(
            id=f"channels.{door.channel}.group.open",
            severity=Severity.WARN,
            text=f"Anyone in any group on {door.channel} can talk to the agent.",
            setting=f"{door.setting}.groupPolicy",
            fix="set it to `allowlist` and list the people in `groupAllowFrom`",
        )


@dataclass(frozen=True, slots=True)
class _Writer:
    """One who writes directly by a door into a session that is not his alone; UNKNOWN where nobody is named."""

    door: Door
    principal: Principal
    setting: str


def _writers_by_session(doors: list[Door], rules: RoutingRules) -> dict[SessionKey, list[_Writer]]:
    """Who is thrown together, by the session."""
    lots: dict[SessionKey, list[_Writer]] = {}
    for door in doors:
        for native_id, principal in ((_NOBODY, UNKNOWN), *_named(door)):
            envelope = _message(door, native_id)
            found = route(envelope, principal, rules)
            if found.key == main_key(found.agent, rules.main_name, rules.scope):
                writer = _Writer(door, principal, _setting(envelope, rules))
                lots.setdefault(found.key, []).append(writer)
    return lots


def _named(door: Door) -> Iterator[tuple[str, Principal]]:
    """The people who are let in by name, each by an id on the door's channel."""
    policy = door.policy
    naming = Naming(channel=door.channel, links=policy.links, traits=policy.traits)
    for entry in (*policy.owner_ids, *policy.allow_from, *sorted(policy.paired)):
        one = naming.at(entry)
        if one.channel != door.channel or one.id in ("", ANYONE):
            continue
        decision = admission.decide(_message(door, one.id), policy)
        if isinstance(decision, Admitted):
            yield one.id, decision.principal


def _message(door: Door, native_id: str) -> Envelope:
    return Envelope(
        channel=door.channel,
        account=door.account or DEFAULT_ACCOUNT,
        sender=Sender(id=native_id),
        conversation=Conversation(chat_type=ChatType.DIRECT),
        text="",
    )


def _setting(envelope: Envelope, rules: RoutingRules) -> str:
    """What has a direct message share a session."""
    if rules.scope is SessionScope.GLOBAL:
        return "session.scope"
    bound = choose(rules.bindings, envelope, rules.traits.of(envelope.channel))
    if bound is None or bound.binding.dm_scope is None:
        return "session.dmScope"
    return f"bindings[{rules.bindings.index(bound.binding)}].session.dmScope"


def _collisions(lot: list[_Writer], rules: RoutingRules) -> Iterator[Finding]:
    """Several people whose direct messages land in one session: each reads what the others said."""
    # One who has said who he is writes there from a client, too.
    owner = {OWNER} if any(_names_somebody(one.door.policy.owner_ids) for one in lot) else set()
    largest = 0
    for channel in dict.fromkeys(one.door.channel for one in lot):
        here = [one for one in lot if one.door.channel == channel]
        people = _people(here)
        several = len(people | owner if people else people)
        largest = max(largest, several)
        whys = (
            ("open", any(one.door.lets_in_anyone for one in here), "anyone may write"),
            ("allow_from", several > 1, "several people are let in, who may be the owner and others"),
            ("accounts", len({one.door.account for one in here}) > 1, "there are several accounts"),
        )
        for name, holds, why in whys:
            if holds:
                yield _collision(here, f"{channel}.{name}", f"On {channel} {why}", rules)
    if len(_people(lot)) > largest:
        channels = ", ".join(dict.fromkeys(one.door.channel for one in lot if one.principal != UNKNOWN))
        yield _collision(lot, "across_channels", f"On {channels} different people are let in", rules)


def _people(lot: list[_Writer]) -> set[Principal]:
    return {one.principal for one in lot if one.principal != UNKNOWN}


def _names_somebody(entries: tuple[str, ...]) -> bool:
    return any(one.strip() not in ("", ANYONE) for one in entries)


def _collision(lot: list[_Writer], name: str, why: str, rules: RoutingRules) -> Finding:
    apart = "`owner-main` or `per-channel-peer`"
    everything = rules.scope is SessionScope.GLOBAL
    return Finding(
        id=f"channels.dm.session_collision.{name}",
        severity=Severity.WARN,
        text=f"{why}, and all direct messages share {'one' if everything else 'the main'} session: "
        "each can learn what the others said.",
        setting=lot[0].setting,
        fix=(
            f"set it to `per-sender`, and `session.dmScope` to {apart}"
            if everything
            else f"set it to {apart}"
        )
        + "; list your own ids in `commands.ownerAllowFrom`, and link those of another in `session.identityLinks`",
    )


def _namesakes(doors: list[Door], rules: RoutingRules) -> Iterator[Finding]:
    channels = sorted(
        {one.channel for one in doors if is_by_name(route(_message(one, _NOBODY), UNKNOWN, rules).key)}
    )
    if len(channels) > 1:
        yield Finding(
            id="channels.dm.same_id",
            severity=Severity.INFO,
            text=f"Sessions are named after ids alone on {', '.join(channels)}: who writes first has the name, and another "
            "with this id gets a session of his channel.",
            setting="session.dmScope",
            fix="set it to `per-channel-peer`, and link the ids of one person in `session.identityLinks`",
        )
