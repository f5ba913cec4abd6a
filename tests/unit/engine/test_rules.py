from dataclasses import replace

import pytest

from roost.core.addresses import Account, Address
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.models import FailureKind, ModelFailed
from roost.core.sendpolicy import SendAction, SendPolicy
from roost.core.tools import Place
from roost.engine.rules import Answerer, Part
from roost.testing import builders
from roost.testing.scripted import ScriptedModel
from tests.flows.gateways import SPEC
from tests.unit.engine.scenes import Doing, Scene


def test_a_channel_without_a_door_lets_in_nobody_but_by_pairing() -> None:
    assert Scene().rules.door(Account("telegram")) == ChannelPolicy(dm_policy=DmPolicy.PAIRING)


def test_an_account_has_its_own_door_or_else_that_of_its_channel() -> None:
    own = ChannelPolicy(dm_policy=DmPolicy.DISABLED)
    channel = ChannelPolicy(dm_policy=DmPolicy.OPEN, accounts={"work": own})
    rules = replace(Scene().rules, doors={"telegram": channel})
    assert rules.door(Account("telegram", "work")) == own
    assert rules.door(Account("telegram", "home")) == rules.door(Account("telegram")) == channel
    assert rules.door(Account("signal", "work")) == ChannelPolicy()


def test_a_message_is_judged_by_its_account_and_then_by_the_send_policy() -> None:
    work = builders.delivery("d", address=Address(channel="telegram", to="bob", account="work"))
    channel = ChannelPolicy(accounts={"work": ChannelPolicy(enabled=False)})
    rules = replace(Scene().rules, doors={"telegram": channel}, sending=SendPolicy(default=SendAction.DENY))
    assert rules.judge(builders.session(), work).rule == "enabled=false of telegram/work"
    home = replace(work, address=replace(work.address, account="home"))
    assert rules.judge(builders.session(), home).rule == "session.sendPolicy.default"


PART = Part(model=ScriptedModel(), spec=SPEC, reason="r", system="", place=Place(workspace="/nonexistent"))


@pytest.mark.parametrize("kind", FailureKind)
def test_without_another_model_a_failure_is_final(kind: FailureKind) -> None:
    assert PART.after(ModelFailed("no", kind=kind)) is None


def test_a_conversation_too_long_is_taken_to_no_other_model() -> None:
    spare = replace(PART, fallbacks=(Answerer(model=ScriptedModel(), spec=SPEC),))
    assert spare.after(ModelFailed("no", kind=FailureKind.OVERFLOW)) is None
    assert spare.after(ModelFailed("no", kind=FailureKind.AUTH)) is not None


async def test_a_model_that_plays_on_has_not_the_tools_it_may_not_use() -> None:
    async def done() -> str:
        return "ok"

    spare = Answerer(model=ScriptedModel(), spec=SPEC, without=frozenset({"exec"}))
    part = replace(PART, tools=(Doing("exec", done), Doing("read", done)), fallbacks=(spare,))
    after = part.after(ModelFailed("no", kind=FailureKind.AUTH))
    assert after is not None
    assert [tool.spec.name for tool in after.tools] == ["read"]
