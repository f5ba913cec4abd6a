"""Which file goes to which conversation."""

from dataclasses import replace

import pytest

from roost.core.keys import SessionKey
from roost.transfer.index import IndexEntry, IndexTimes
from roost.transfer.options import ImportOptions
from roost.transfer.paths import TranscriptName, is_session_id
from roost.transfer.plans import MAX_DEPTH, Plan, Plans, make_plans, orphan_key
from roost.transfer.report import Result

OPTIONS = ImportOptions(now=0)
MAIN = SessionKey.named("main", "main")


def named(text: str) -> TranscriptName:
    name = TranscriptName.parse(text)
    assert name is not None
    return name


def entry(
    name: str, session_id: str | None = None, *, updated: int = 0, parent: str | None = None
) -> IndexEntry:
    return IndexEntry(name=name, session_id=session_id, times=IndexTimes(updated=updated), parent=parent)


def plans(*entries: IndexEntry, files: tuple[str, ...] = ()) -> Plans:
    return make_plans(entries, [named(text) for text in files], "main", OPTIONS)


def files_of(plan: Plan) -> list[str | None]:
    return [part.file.text if part.file else None for part in plan.parts]


def ids_of(plan: Plan) -> list[str]:
    return [part.session_id for part in plan.parts]


def test_a_key_gets_the_file_of_its_session_id() -> None:
    (plan,) = plans(entry("main", "a"), files=("a.jsonl",)).plans
    assert (plan.key, plan.source, files_of(plan), ids_of(plan)) == (MAIN, "main", ["a.jsonl"], ["a"])
    assert not plan.archived


@pytest.mark.requirement("D36")
def test_a_topic_gets_the_file_that_names_it() -> None:
    topic = entry("agent:main:telegram:group:-1:topic:42", "a")
    group = entry("agent:main:telegram:group:-1", "b")
    found = plans(topic, group, files=("a.jsonl", "a-topic-42.jsonl", "a-topic-7.jsonl", "b.jsonl")).plans
    assert [files_of(plan) for plan in found] == [
        ["a-topic-42.jsonl"],
        ["b.jsonl"],
        ["a-topic-7.jsonl"],
        ["a.jsonl"],
    ]
    assert len({part.session_id for plan in found for part in plan.parts}) == 4
    assert found[0].parts[0].session_id == "a"


def test_a_topic_without_a_file_of_its_own_gets_that_of_its_session_id() -> None:
    (plan,) = plans(entry("agent:main:slack:channel:c:thread:1.2", "a"), files=("a.jsonl",)).plans
    assert files_of(plan) == ["a.jsonl"]


@pytest.mark.requirement("D37")
def test_a_key_without_a_file_is_a_conversation_without_entries() -> None:
    (plan,) = plans(entry("main", "a")).plans
    assert (files_of(plan), ids_of(plan)) == ([None], ["a"])
    assert "it has no transcript" in plan.remarks
    (plan,) = plans(entry("main")).plans
    assert is_session_id(plan.parts[0].session_id)


@pytest.mark.requirement("P5")
def test_files_put_aside_by_a_reset_are_earlier_parts_of_the_conversation() -> None:
    now = replace(entry("main", "c"), earlier=("a", "b"))
    names = ("c.jsonl", "b.jsonl.reset.2", "a.jsonl.reset.1", "c.jsonl.reset.3", "b.jsonl.reset.1")
    (plan,) = plans(now, files=names).plans
    assert files_of(plan) == [
        "a.jsonl.reset.1",
        "b.jsonl.reset.1",
        "b.jsonl.reset.2",
        "c.jsonl.reset.3",
        "c.jsonl",
    ]
    ids = ids_of(plan)
    assert (ids[0], ids[2], ids[4]) == ("a", "b", "c")
    assert len(set(ids)) == 5


def test_a_file_keeps_its_id_when_it_is_put_aside_between_two_imports() -> None:
    before = plans(entry("main", "a"), files=("a.jsonl", "a.jsonl.reset.1")).plans[0]
    moved = replace(entry("main", "b"), earlier=("a",))
    after = plans(moved, files=("a.jsonl.reset.1", "a.jsonl.reset.2", "b.jsonl")).plans[0]
    assert ids_of(after)[:2] == ids_of(before)


def test_a_file_in_use_by_one_key_is_not_an_earlier_part_of_another() -> None:
    greedy = replace(entry("agent:main:explicit:greedy", "x"), earlier=("a",))
    found = plans(greedy, entry("main", "a"), files=("a.jsonl", "x.jsonl")).plans
    assert [files_of(plan) for plan in found] == [["x.jsonl"], ["a.jsonl"]]


def test_two_keys_with_one_session_id_do_not_share_its_file() -> None:
    first, second = plans(entry("main", "a"), entry("agent:main:explicit:b", "a"), files=("a.jsonl",)).plans
    assert (files_of(first), files_of(second)) == (["a.jsonl"], [None])
    assert ids_of(first) != ids_of(second)


@pytest.mark.requirement("D41")
def test_two_names_of_one_key_are_one_conversation_and_the_fresher_is_current() -> None:
    (plan,) = plans(
        entry("agent:main:telegram:direct:1", "new", updated=2),
        entry("agent:main:telegram:dm:1", "old", updated=1),
        files=("new.jsonl", "old.jsonl"),
    ).plans
    assert files_of(plan) == ["old.jsonl", "new.jsonl"]
    assert plan.source == "agent:main:telegram:direct:1"
    assert "agent:main:telegram:dm:1 is another name of it" in plan.remarks


def test_of_two_names_as_fresh_as_each_other_the_canonical_one_wins() -> None:
    names = ("agent:main:main", "main")
    for order in (names, names[::-1]):
        (plan,) = plans(*(entry(name, name.replace(":", "-")) for name in order)).plans
        assert plan.source == "agent:main:main"


@pytest.mark.requirement("P5")
def test_a_file_that_no_key_names_is_a_conversation_of_its_own() -> None:
    found = plans(files=("a.jsonl", "b.jsonl.deleted.1", "c-topic-%24.jsonl")).plans
    assert [(str(plan.key), plan.archived) for plan in found] == [
        ("agent:main:explicit:imported-a", False),
        ("agent:main:explicit:imported-b", True),
        ("agent:main:explicit:imported-c-topic-%24", False),
    ]
    assert all(is_session_id(part.session_id) for plan in found for part in plan.parts)
    assert ids_of(found[0]) == ["a"]


def test_all_that_is_left_of_one_session_is_one_conversation() -> None:
    (plan,) = plans(files=("a.jsonl.deleted.2", "a.jsonl", "a.jsonl.reset.1")).plans
    assert files_of(plan) == ["a.jsonl.reset.1", "a.jsonl.deleted.2", "a.jsonl"]
    assert not plan.archived


def test_a_compressed_file_is_left_out_and_told() -> None:
    found = plans(files=("a.jsonl.deleted.1.zst",))
    assert found.plans == ()
    assert [(item.source, item.result) for item in found.skipped] == [
        ("a.jsonl.deleted.1.zst", Result.SKIPPED)
    ]


@pytest.mark.parametrize("name", ["agent:", "agent:x", "", "agent:main:a\0b"])
def test_a_malformed_key_is_left_out_with_its_file_and_told(name: str) -> None:
    found = plans(entry(name, "a"), files=("a.jsonl", "b.jsonl"))
    assert [plan.source for plan in found.plans] == ["b.jsonl"]
    assert [item.result for item in found.skipped] == [Result.SKIPPED, Result.SKIPPED]
    assert found.skipped[1].source == "a.jsonl"


def test_a_malformed_key_does_not_take_the_file_of_another() -> None:
    found = plans(entry("agent:", "a"), entry("main", "a"), files=("a.jsonl",))
    assert files_of(found.plans[0]) == ["a.jsonl"]


def test_a_reserved_key_is_told_and_its_file_is_a_conversation_of_its_own() -> None:
    found = plans(entry("unknown", "a"), files=("a.jsonl",))
    assert [plan.key for plan in found.plans] == [orphan_key("main", "a")]
    assert found.skipped[0].source == "unknown"


def test_what_the_index_archived_stays_so() -> None:
    (plan,) = plans(replace(entry("main", "a"), times=IndexTimes(archived=7))).plans
    assert plan.archived


def test_what_is_not_taken_over_is_named() -> None:
    (plan,) = plans(replace(entry("main", "a"), left_out=("sendPolicy", "cwd"))).plans
    assert "not taken over: cwd, sendPolicy" in plan.remarks


def child(number: int, parent: str) -> IndexEntry:
    return entry(f"agent:main:subagent:{number}", f"s{number}", parent=parent)


def test_children_come_after_their_parents() -> None:
    found = plans(child(2, "agent:main:subagent:1"), child(1, "main"), entry("main", "a")).plans
    assert [str(plan.key) for plan in found] == [
        "agent:main:main",
        "agent:main:subagent:1",
        "agent:main:subagent:2",
    ]
    assert [plan.parent and str(plan.parent) for plan in found] == [
        None,
        "agent:main:main",
        "agent:main:subagent:1",
    ]


@pytest.mark.requirement("S25")
def test_a_circle_of_parents_is_cut_and_told() -> None:
    ring = [child(1, "agent:main:subagent:2"), child(2, "agent:main:subagent:1"), child(3, "subagent:3")]
    for plan in plans(*ring).plans:
        assert plan.parent is None
        assert "its line of parents has no end here; it stands alone" in plan.remarks


def test_a_line_of_parents_longer_than_any_can_be_is_cut() -> None:
    line = [
        child(0, "main"),
        *(child(number, f"subagent:{number - 1}") for number in range(1, MAX_DEPTH + 3)),
    ]
    found = {plan.key.name: plan.parent for plan in plans(entry("main", "a"), *line).plans}
    assert found[str(MAX_DEPTH - 1)] is not None
    assert found[str(MAX_DEPTH)] is None


@pytest.mark.parametrize("parent", ["agent:main:elsewhere", "agent:", None])
def test_a_parent_that_is_not_imported_too_is_none(parent: str | None) -> None:
    (plan,) = plans(replace(child(1, ""), parent=parent)).plans
    assert plan.parent is None


def test_only_children_have_parents() -> None:
    found = plans(entry("main", "a"), entry("agent:main:explicit:x", "b", parent="main")).plans
    assert [plan.parent for plan in found] == [None, None]


@pytest.mark.requirement("S25")
def test_a_key_of_another_agent_is_refused_with_its_file_and_one_of_no_agent_is_taken() -> None:
    found = plans(
        entry("agent:ops:main", "a"),
        entry("agent:ops:subagent:1", "s"),
        entry("global", "g"),
        entry("Agent:MAIN:cron:daily", "c"),
        entry("node-1", "n"),
        files=("a.jsonl", "g.jsonl", "c.jsonl", "n.jsonl"),
    )
    assert [(str(plan.key), files_of(plan)) for plan in found.plans] == [
        ("global", ["g.jsonl"]),
        ("agent:main:cron:daily", ["c.jsonl"]),
        ("agent:main:node-1", ["n.jsonl"]),
    ]
    why = "a key of ops, and these are the sessions of main"
    assert [(item.source, item.result, item.reason) for item in found.skipped] == [
        ("agent:ops:main", Result.SKIPPED, why),
        ("agent:ops:subagent:1", Result.SKIPPED, why),
        ("a.jsonl", Result.SKIPPED, f"belongs to agent:ops:main, which is {why}"),
    ]


@pytest.mark.requirement("S25")
def test_a_file_that_another_agents_key_claims_too_stays_with_the_key_of_this_one() -> None:
    found = plans(entry("agent:ops:main", "a"), entry("main", "a"), files=("a.jsonl",))
    assert [(plan.key, files_of(plan)) for plan in found.plans] == [(MAIN, ["a.jsonl"])]
