"""The configuration as the engine goes by it."""

import os
from collections.abc import Callable, Mapping
from functools import partial

from roost.app.auditing import audited
from roost.app.casting import Director, SessionTools
from roost.app.places import export_folder
from roost.app.scanning import known_secrets, secret_scanner
from roost.app.zones import zone_of
from roost.config import Loaded, as_document, config_hash, policies, shared_hash
from roost.config import gateway as config
from roost.config.beats import beats
from roost.config.hooks import hook_rules
from roost.core.admission import ChannelPolicy
from roost.core.exports import Piece, Reached
from roost.core.keys import SessionKey
from roost.core.redaction import to_cover
from roost.core.sharing import second_person
from roost.core.turntaking import Limits
from roost.engine.rules import CommandRules, Housekeeping, KnownAgent, Rules, ShownConfig, TimerRules
from roost.models.demo import SPEC as DEMO
from roost.models.registry import Registry
from roost.ports import Remote, Store

CEILING = 64


def engine_rules(
    loaded: Loaded,
    registry: Registry,
    doors: Mapping[str, ChannelPolicy],
    session_tools: SessionTools,
) -> Rules:
    settings = loaded.settings
    configured = {channel: policies.channel_policy(settings, channel) for channel in settings.channels}
    lanes = policies.lane_limits(settings, os.cpu_count() or 1)
    zone = zone_of(loaded)
    return Rules(
        cast=Director(loaded, registry, zone, session_tools).cast,
        doors={**doors, **configured},
        routing=policies.routing_rules(settings),
        queue=policies.queue_policy(settings),
        resets=policies.reset_policy(settings),
        sending=policies.send_policy(settings),
        zone=zone,
        limits=Limits(ceiling=CEILING, lanes=lanes),
        budgets=policies.budget_limits(settings),
        house=Housekeeping(
            retention=policies.retention(settings),
            room=policies.room(settings),
            recovery_max_age_ms=settings.recovery.max_age.milliseconds,
            announce_ms=settings.agents.defaults.subagents.announce_timeout_ms,
            shown=shown(loaded),
            hidden=to_cover(known_secrets(loaded)),
            completions=settings.gateway.http.endpoints.chat_completions.enabled,
            entrance=policies.entrance(settings),
            hooks=hook_rules(settings.hooks),
            timers=TimerRules(enabled=settings.cron.enabled, beats=beats(settings, zone)),
            remotes=_remotes(settings.gateway),
            audit=partial(audited, loaded),
            joined=second_person,
        ),
    )


def _remotes(settings: config.Gateway) -> Mapping[str, Remote]:
    if not settings.remotes:
        return {}
    from roost.remotes import RemoteGateway  # noqa: PLC0415 — a client, which most gateways are not

    return {
        name: RemoteGateway(one.url, one.token, one.fingerprint) for name, one in settings.remotes.items()
    }


def shown(loaded: Loaded) -> ShownConfig:
    """What clients are shown; credentials are masked in the document already."""
    settings, sources = loaded.settings, loaded.sources
    default = settings.agents.default.id
    return ShownConfig(
        path=str(sources.file),
        exists=sources.exists,
        document=as_document(settings),
        fingerprint=config_hash(settings),
        shared=shared_hash(settings),
        agents=tuple(
            KnownAgent(
                id=agent.id,
                name=agent.name,
                model=agent.model.primary or str(DEMO.ref),
                fallbacks=agent.model.fallbacks,
                workspace=str(loaded.workspace(agent)),
            )
            for agent in sorted(settings.agents.list, key=lambda one: one.id != default)
        ),
    )


def command_rules(loaded: Loaded, registry: Registry, store: Store, version: str) -> CommandRules:
    settings, scanner = loaded.settings, secret_scanner(loaded)

    async def export(key: SessionKey, raw: bool) -> tuple[str, ...]:
        from roost.transfer.exportfolder import export_to  # noqa: PLC0415 — what writes files is loaded by who exports

        return await export_to(export_folder(loaded.sources.home), store, key, None if raw else scanner)

    async def pieces(
        key: SessionKey, raw: bool, reached: Reached | None, cover: Callable[[bytes], bytes]
    ) -> Piece:
        from roost.transfer.cleaning import masked, masking  # noqa: PLC0415 — as above
        from roost.transfer.pieces import piece_after  # noqa: PLC0415 — as above

        clean = masking(scanner)
        return await piece_after(
            store, key, reached, cover if raw else lambda line: cover(masked(line, clean))
        )

    return CommandRules(
        policy=policies.command_policy(settings),
        triggers=policies.extra_triggers(settings),
        models=registry.catalogue,
        agents=tuple(agent.id for agent in settings.agents.list),
        version=version,
        export=export,
        pieces=pieces,
        scanner=scanner,
    )
