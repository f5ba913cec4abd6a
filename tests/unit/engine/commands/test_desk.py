from dataclasses import replace

import pytest

from roost.core.admission import AdmissionRule, Admitted
from roost.core.commandaccess import CommandPolicy, Ignored
from roost.core.commandlines import Line
from roost.core.commands import COMMANDS, Command
from roost.core.deliveries import DeliveryKind, DeliveryState
from roost.core.identities import Identity
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import Text
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, SessionQuery
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.core.visibility import Operation
from roost.engine.commands.asked import Asked, Means, Speaker
from roost.engine.commands.desk import Desk, denial
from roost.engine.inbox import TurnedAway
from roost.ports import Accepted
from roost.testing.builders import MAIN
from tests import samples
from tests.samples import BOB
from tests.snapshots import snapshot
from tests.unit.engine.commands.rooms import Room

GROUP = SessionKey(agent="main", kind=KeyKind.GROUP, channel="loopback", name="g1")


async def test_an_answer_is_a_delivery_of_its_own_kind_and_no_entry(room: Room) -> None:
    accepted = await room.accepted("/whoami")
    assert accepted.record.state is InboundState.ANSWERED
    assert accepted.record.reason == "/whoami"
    (delivery,) = await room.store.deliveries(DeliveryState.INTENT, 10)
    assert (delivery.kind, delivery.text) == (DeliveryKind.COMMAND, accepted.record.answer)
    assert delivery.address == accepted.record.inbound.reply_to
    assert (await room.store.history(HistoryQuery(key=MAIN))).entries == ()
    assert (await room.snapshot()).queued == ()


async def test_a_command_told_again_is_done_and_answered_once(room: Room) -> None:
    envelope = room.envelope("/usage")
    first = await room.inbox.receive(envelope)
    again = await room.inbox.receive(envelope)
    assert not isinstance(first, TurnedAway)
    assert not isinstance(again, TurnedAway)
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.record.answer == first.record.answer
    assert (await room.session()).overrides.usage == "tokens"
    assert len(await room.store.deliveries(DeliveryState.INTENT, 10)) == 1


async def test_a_shortcut_is_answered_and_the_rest_goes_on(room: Room) -> None:
    accepted = await room.accepted("tell me a joke /whoami please")
    assert accepted.record.inbound.content == (Text("tell me a joke please"),)
    assert len((await room.snapshot()).queued) == 1
    (delivery,) = await room.store.deliveries(DeliveryState.INTENT, 10)
    assert delivery.text.startswith("You are the owner")


async def test_where_commands_are_not_read_from_text_only_reset_words_count(room: Room) -> None:
    room.command_rules(policy=CommandPolicy(text=False))
    assert (await room.accepted("/status")).record.answer is None
    await room.accepted("/new")
    assert len(await room.store.generations(MAIN)) == 2


async def test_a_command_given_by_the_platforms_own_means_counts_everywhere(room: Room) -> None:
    room.command_rules(policy=CommandPolicy(text=False))
    pressed = replace(room.envelope("/whoami"), native_command=True)
    accepted = await room.inbox.receive(pressed)
    assert not isinstance(accepted, TurnedAway)
    assert (accepted.record.answer or "").startswith("You are the owner")


async def test_who_may_use_no_commands_is_ignored_and_the_owner_can_see_why(room: Room) -> None:
    room.command_rules(policy=CommandPolicy(allow_from={}))
    away = await room.inbox.receive(room.envelope("/status", "bob"))
    assert isinstance(away, TurnedAway)
    assert isinstance(away.decision, Ignored)
    (denial,) = await room.store.denials(10)
    assert (denial.operation, denial.rule) == ("/status", "commands.allowFrom.*")
    assert (await room.store.list_sessions(SessionQuery())).rows == ()


@pytest.mark.parametrize("text", ["stop", "hello /status", "/unheard of"])
async def test_what_was_no_command_of_theirs_is_a_message_still(room: Room, text: str) -> None:
    room.command_rules(policy=CommandPolicy(allow_from={}))
    accepted = await room.accepted(text, "bob")
    assert accepted.record.inbound.content == (Text(text),)
    assert accepted.record.state is InboundState.PENDING


@pytest.mark.requirement("S6", "D47")
@pytest.mark.parametrize("text", ["/send off", "/activation always", "/export-session"])
async def test_an_owners_command_is_refused_to_others_and_changes_nothing(room: Room, text: str) -> None:
    answer = await room.ask(text, "bob", group="g1")
    assert "commands.ownerAllowFrom" in answer
    session = await room.session(GROUP)
    assert (session.overrides.send_policy, session.overrides.activation) == (None, None)
    (denial,) = await room.store.denials(10)
    assert denial.rule == "commands.ownerAllowFrom"


@pytest.mark.requirement("S7", "S6")
@pytest.mark.parametrize("command", [one for one in COMMANDS if not one.owner], ids=lambda one: one.name)
async def test_whoever_takes_part_in_a_session_passes_the_guard_and_nobody_else(
    room: Room, command: Command
) -> None:
    room.change(routing=RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER))
    await room.accepted(f"/{command.name} x", "bob")
    keys = {session.key for session in (await room.store.list_sessions(SessionQuery())).rows}
    assert keys == {SessionKey(agent="main", kind=KeyKind.DIRECT, channel="loopback", name="bob")}


async def test_an_error_is_told_in_sentences(room: Room) -> None:
    assert await room.ask("/model nonsense") == (
        "There is no model nonsense. There are: scripted/one, scripted/thinker, quick."
    )


async def test_a_lone_stop_word_counts_only_while_something_runs(room: Room) -> None:
    assert (await room.accepted("stop")).record.answer is None
    assert (await room.ask("stop")).startswith("Stopped 0 runs and 1 queued.")


async def test_a_mention_before_a_command_in_a_group_is_taken_off(room: Room) -> None:
    envelope = replace(room.envelope("@roost /whoami", group="g1"), mentions_bot=True)
    accepted = await room.inbox.receive(envelope)
    assert not isinstance(accepted, TurnedAway)
    assert accepted.record.answer is not None


async def test_a_mention_before_a_word_of_its_own_is_taken_off(room: Room) -> None:
    room.command_rules(triggers=("tabula rasa",))

    async def mentioned(text: str) -> InboundRecord:
        accepted = await room.inbox.receive(replace(room.envelope(text, group="g1"), mentions_bot=True))
        assert not isinstance(accepted, TurnedAway)
        return accepted.record

    first = await mentioned("@roost hello")
    assert first.inbound.content == (Text("@roost hello"),)
    assert "Stopped 0 runs and 1 queued." in ((await mentioned("@roost Stop!")).answer or "")
    began = (await room.session(GROUP)).session_id
    await mentioned("<@U1>, tabula rasa")
    assert (await room.session(GROUP)).session_id != began


async def test_a_command_neither_resets_a_stale_session_nor_keeps_it_fresh(room: Room) -> None:
    await room.accepted("hello")
    before = (await snapshot(room.store)).session
    room.scene.clock.advance(48 * 3_600_000)
    await room.ask("/status")
    after = await room.session()
    assert before is not None
    assert (after.session_id, after.times.interacted) == (before.session_id, before.times.interacted)


async def test_without_an_address_the_answer_is_kept_with_the_message(room: Room) -> None:
    means = Means(
        store=room.store,
        rules=room.scene.rules,
        channels=(),
        started_at=room.scene.clock.now(),
    )
    arrival = samples.arrival(samples.inbound(text="/whoami", reply_to=None))
    admitted = Admitted(principal=OWNER, rule=AdmissionRule.OWNER)
    taken = await Desk(means, room.stops).take(room.envelope("/whoami"), admitted, arrival)
    assert isinstance(taken, Accepted)
    assert taken.record.answer is not None
    assert await room.store.deliveries(DeliveryState.INTENT, 10) == ()


@pytest.mark.requirement("S6", "S7")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one.name)
def test_one_guard_is_asked_for_every_command(command: Command) -> None:
    """Who takes part may do what the guard allows to those who take part, and the export is not among it."""
    bob = Speaker(principal=BOB, identity=Identity(channel="telegram", id="2"), rule=AdmissionRule.DM_OPEN)
    asked = Asked(
        line=Line(command=command, word=f"/{command.name}"),
        speaker=bob,
        arrival=samples.arrival(),
        session=samples.session(),
        stored=True,
    )
    assert (denial(asked) is None) == (command.operation is not Operation.EXPORT)
    owner = replace(asked, speaker=replace(bob, principal=OWNER))
    assert denial(owner) is None
