"""What is allowed in a configuration but worth a word to its owner."""

from collections.abc import Iterator
from dataclasses import dataclass

from roost.config.agents import DelegationMode
from roost.config.channels import Channel, ChatTools
from roost.config.gateway import AuthMode
from roost.config.policies import identity_links
from roost.config.problems import path_text
from roost.config.section import Loc
from roost.config.session import Reset, Session
from roost.config.settings import Settings
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.identities import Naming
from roost.core.lifecycle import ResetMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """`path` is empty for what concerns the surroundings of the file."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


def remarks_on(settings: Settings) -> tuple[Remark, ...]:
    found = (
        *_gateway(settings),
        *_resets(settings.session),
        *_maintenance(settings.session),
        *_heartbeats(settings),
        *_senders(settings),
        *_unbuilt(settings),
    )
    return tuple(Remark(path=path_text(loc), text=text) for loc, text in found)


def _gateway(settings: Settings) -> Iterator[tuple[Loc, str]]:
    if settings.gateway.auth.mode is AuthMode.NONE:
        yield ("gateway", "auth", "mode"), "every program on this machine can act as the owner"
    if settings.gateway.dangerously_allow_clear_text:
        yield (
            ("gateway", "dangerouslyAllowClearText"),
            "credentials and chats cross the network in clear text",
        )


def _resets(session: Session) -> Iterator[tuple[Loc, str]]:
    base = session.reset or Reset()
    by_type = session.reset_by_type
    typed = (
        [(name, getattr(by_type, name)) for name in ("direct", "group", "thread", "dm")] if by_type else []
    )
    places: list[tuple[Loc, Reset | None, int | None]] = [
        (("session", "reset"), session.reset, None),
        *((("session", "resetByType", name), reset, base.idle_minutes) for name, reset in typed),
        *(
            (("session", "resetByChannel", name), reset, None)
            for name, reset in session.reset_by_channel.items()
        ),
    ]
    for loc, reset, inherited in places:
        if reset and reset.mode is ResetMode.IDLE and not (reset.idle_minutes or inherited):
            yield loc, "mode `idle` without `idleMinutes` never resets a session"


def _maintenance(session: Session) -> Iterator[tuple[Loc, str]]:
    if session.maintenance.cold_storage.enabled:
        yield (
            ("session", "maintenance", "coldStorage", "enabled"),
            "transcripts are not compressed; nothing changes",
        )


def _heartbeats(settings: Settings) -> Iterator[tuple[Loc, str]]:
    text = "a heartbeat always runs beside the session; `false` changes nothing"
    if not settings.agents.defaults.heartbeat.isolated_session:
        yield ("agents", "defaults", "heartbeat", "isolatedSession"), text
        return
    for agent in settings.agents.list:
        if not agent.heartbeat.isolated_session:
            yield ("agents", "list", agent.id, "heartbeat", "isolatedSession"), text


def _senders(settings: Settings) -> Iterator[tuple[Loc, str]]:
    """Entries by sender that count for nobody."""
    owners, links = settings.commands.owner_allow_from or (), identity_links(settings)
    for name, channel in settings.channels.items():
        naming = Naming(channel=name, links=links, traits=KNOWN_CHANNELS)
        for loc, own in _chats(("channels", name), channel):
            for entry in own.tools_by_sender:
                if not naming.can_mean(entry):
                    text = f"nobody on {name} is meant by it; write an id on {name}, or link the two"
                    yield (*loc, "toolsBySender", entry), text
                elif any(naming.at(entry).is_named_by(one, KNOWN_CHANNELS) for one in owners):
                    yield (*loc, "toolsBySender", entry), "the owner is meant by `owner`, and not by an id"


def _chats(loc: Loc, channel: Channel) -> Iterator[tuple[Loc, ChatTools]]:
    for place, own in (
        (loc, channel),
        *(((*loc, "accounts", name), account) for name, account in channel.accounts.items()),
    ):
        # An account has what its channel says, unless it says something else.
        if own is channel or own.tools_by_sender != channel.tools_by_sender:
            yield place, own
        if own is channel or own.groups != channel.groups:
            yield from (((*place, "groups", name), group) for name, group in own.groups.items())


def _unbuilt(settings: Settings) -> Iterator[tuple[Loc, str]]:
    """What other files may ask for and is not there."""
    for name in ("config", "debug", "bash", "plugins", "mcp"):
        if getattr(settings.commands, name):
            yield ("commands", name), f"there is no /{name} here; nothing changes"
    if settings.tools.sessions_spawn.attachments.enabled:
        yield (
            ("tools", "sessions_spawn", "attachments", "enabled"),
            "a spawn hands no files to its child; nothing changes",
        )
    modes: dict[Loc, DelegationMode] = {
        ("agents", "defaults"): settings.agents.defaults.subagents.delegation_mode,
        **{("agents", "list", agent.id): agent.subagents.delegation_mode for agent in settings.agents.list},
    }
    asked = next((loc for loc, mode in modes.items() if mode is not DelegationMode.SUGGEST), None)
    if asked is not None:
        yield (*asked, "subagents", "delegationMode"), "no prompt speaks for delegating; nothing changes"
