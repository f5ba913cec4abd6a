"""The blocks that tell an agent which part it has in a conversation with another agent."""

from roost.core.exchanges import Exchange
from roost.core.sentinels import Sentinel


def primary_block(exchange: Exchange, requester_channel: str | None, target_channel: str | None) -> str:
    """For the target's first run."""
    return _lines(
        "Agent-to-agent message.",
        *_roles(exchange, requester_channel, target_channel),
        "You are agent 2. Your reply goes back to agent 1.",
    )


def turn_block(exchange: Exchange, requester_channel: str | None, target_channel: str | None) -> str:
    """For the reply-back turn the exchange stands at."""
    current = "agent 1 (requester)" if exchange.turn % 2 else "agent 2 (target)"
    return _lines(
        "Agent-to-agent reply step.",
        *_roles(exchange, requester_channel, target_channel),
        f"You are {current}. Turn {exchange.turn} of {exchange.max_turns}.",
        f"The message is the other agent's latest reply. Reply exactly {Sentinel.REPLY_SKIP} to end the exchange.",
    )


def announce_block(exchange: Exchange, requester_channel: str | None, target_channel: str | None) -> str:
    """For the target's last word."""
    return _lines(
        "Agent-to-agent announce step.",
        *_roles(exchange, requester_channel, target_channel),
        "You are agent 2. The exchange is over after this reply.",
        f"Original request: {exchange.request}",
        f"Round 1 reply: {exchange.first_reply or '(none)'}",
        f"Latest reply: {exchange.latest_reply or '(none)'}",
        f"Reply exactly {Sentinel.ANNOUNCE_SKIP} to stay silent. Any other reply is recorded, and sent to your "
        "channel if there is a way to it.",
    )


def _roles(exchange: Exchange, requester_channel: str | None, target_channel: str | None) -> tuple[str, str]:
    return (
        f"Agent 1 (requester): {exchange.requester}{_on(requester_channel)}",
        f"Agent 2 (target): {exchange.target}{_on(target_channel)}",
    )


def _on(channel: str | None) -> str:
    return f" on {channel}" if channel else ""


def _lines(*lines: str) -> str:
    return "\n".join(lines)
