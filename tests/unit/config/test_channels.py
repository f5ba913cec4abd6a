import pytest

from roost.core.addresses import ChatType
from roost.core.admission import DmPolicy, GroupPolicy
from tests.unit.config.given import refused, settings


@pytest.mark.requirement("S21")
def test_a_channel_lets_in_nobody_by_itself() -> None:
    channel = settings({"channels": {"telegram": {}}}).channels["telegram"]
    assert channel.dm_policy is DmPolicy.PAIRING
    assert channel.group_policy is GroupPolicy.ALLOWLIST
    assert channel.require_mention is True
    assert channel.allow_from == channel.group_allow_from == ()


def test_an_account_has_its_own_values_and_the_channels_for_the_rest() -> None:
    channel = settings(
        {
            "channels": {
                "telegram": {
                    "dmPolicy": "open",
                    "allowFrom": ["1"],
                    "accounts": {"work": {"dmPolicy": "pairing"}, "home": {}},
                }
            }
        }
    ).channels["telegram"]
    assert (channel.accounts["work"].dm_policy, channel.accounts["work"].allow_from) == (
        DmPolicy.PAIRING,
        ("1",),
    )
    assert channel.accounts["home"].dm_policy is DmPolicy.OPEN


@pytest.mark.parametrize("policy", ["", "all", None, [], {}])
@pytest.mark.requirement("S21")
def test_an_unknown_policy_is_refused(policy: object) -> None:
    assert "channels.telegram.dmPolicy" in refused({"channels": {"telegram": {"dmPolicy": policy}}})


def test_a_binding_may_name_a_chat_a_guild_and_a_scope() -> None:
    [binding] = settings(
        """
        { bindings: [{ agentId: "main", match: { channel: "discord", accountId: "*", peer: { kind: "dm", id: "7" },
          guildId: "g", teamId: "t", roles: ["r"] }, session: { dmScope: "per-peer" } }] }
        """
    ).bindings
    assert binding.match.peer is not None
    assert binding.match.peer.kind is ChatType.DIRECT
    assert binding.session.dm_scope == "per-peer"


def test_a_binding_without_its_agent_or_channel_is_refused() -> None:
    assert list(refused({"bindings": [{}, {"agentId": "main", "match": {}}]})) == [
        "bindings[0].agentId",
        "bindings[0].match",
        "bindings[1].match.channel",
    ]
