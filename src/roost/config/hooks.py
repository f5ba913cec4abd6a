"""Webhooks, from the configuration."""

from roost.config import automation
from roost.core.hooks import HookMapping, HookRules


def hook_rules(own: automation.Hooks) -> HookRules:
    """Without a token, or while they are not enabled, there are none."""
    return HookRules(
        token=own.token if own.enabled else None,
        path=own.path,
        agents=own.allowed_agent_ids,
        default_key=own.default_session_key,
        names_sessions=own.allow_request_session_key,
        prefixes=own.allowed_session_key_prefixes,
        mappings={name: _mapping(one) for name, one in own.mappings.items()},
        most_bytes=own.max_body_bytes.bytes,
        per_minute=own.max_per_minute,
    )


def _mapping(own: automation.HookMapping) -> HookMapping:
    return HookMapping(
        action=own.action,
        message=own.message,
        agent=own.agent_id,
        session_key=own.session_key,
        deliver=own.deliver,
        model=own.model,
        wake=own.wake_mode,
        secret=own.secret,
        scheme=own.signature,
    )
