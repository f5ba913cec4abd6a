from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from roost.core.addresses import ChatType
from roost.core.facts import ConversationType
from roost.core.keys import KeyKind, SessionKey
from roost.core.lifecycle import (
    Fresh,
    ResetMode,
    ResetPolicy,
    ResetRule,
    ResetSetting,
    Stale,
    StaleReason,
    freshness,
    next_reset,
    reset_type,
    resolve,
    rule_for,
)
from roost.core.sessions import Facts, SessionKind
from tests import samples

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
DAILY = ResetRule(mode=ResetMode.DAILY)
BOTH = ResetRule(mode=ResetMode.DAILY, at_hour=4, idle_minutes=120)
DIRECT = ConversationType.DIRECT
GROUP = ConversationType.GROUP


def at(text: str, zone: tzinfo = BERLIN) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


def reason(rule: ResetRule, last: str, now: str, zone: tzinfo = BERLIN) -> StaleReason | None:
    verdict = freshness(rule, at(last, zone), at(now, zone), zone)
    return verdict.reason if isinstance(verdict, Stale) else None


@pytest.mark.requirement("D42")
@pytest.mark.parametrize(
    ("last", "now", "expected"),
    [
        ("2025-06-16T03:59", "2025-06-16T04:01", StaleReason.DAILY),
        ("2025-06-16T03:59", "2025-06-16T04:00", StaleReason.DAILY),
        ("2025-06-16T04:00", "2025-06-16T05:59", None),
        ("2025-06-16T04:00", "2025-06-16T06:00", None),
        ("2025-06-16T04:00", "2025-06-16T06:01", StaleReason.IDLE),
        ("2025-06-15T23:00", "2025-06-16T03:00", StaleReason.IDLE),
        # Both windows have passed: the one that ended first is named.
        ("2025-06-13T03:00", "2025-06-16T12:00", StaleReason.DAILY),
        ("2025-06-13T05:00", "2025-06-16T12:00", StaleReason.IDLE),
    ],
)
def test_a_session_is_stale_after_the_hour_or_the_idle_window_whichever_ends_first(
    last: str, now: str, expected: StaleReason | None
) -> None:
    assert reason(BOTH, last, now) is expected


def test_a_stale_verdict_names_its_boundary_and_rule() -> None:
    verdict = freshness(DAILY, at("2025-06-14T22:00"), at("2025-06-16T12:00"), BERLIN)
    assert verdict == Stale(reason=StaleReason.DAILY, boundary=at("2025-06-15T04:00"), rule=DAILY)


@pytest.mark.requirement("P9")
def test_mode_none_never_resets() -> None:
    never = ResetRule(mode=ResetMode.NONE, idle_minutes=1)
    assert next_reset(never, at("2020-01-01T00:00"), BERLIN) is None
    assert freshness(never, 1, 10**14, BERLIN) == Fresh()


def test_an_idle_rule_without_minutes_never_expires() -> None:
    assert next_reset(ResetRule(mode=ResetMode.IDLE), 1, BERLIN) is None


def test_an_idle_rule_has_no_daily_boundary() -> None:
    rule = ResetRule(mode=ResetMode.IDLE, idle_minutes=10_080)
    assert reason(rule, "2025-06-15T12:00", "2025-06-16T12:00") is None


def test_an_interaction_time_of_zero_forces_a_reset_whatever_the_rule() -> None:
    verdict = freshness(ResetRule(mode=ResetMode.NONE), 0, 5, BERLIN)
    assert isinstance(verdict, Stale)
    assert verdict.reason is StaleReason.MARKED


@pytest.mark.parametrize("last", [-1, at("2025-06-17T00:00")])
def test_a_time_before_all_time_or_in_the_future_is_ignored(last: int) -> None:
    assert freshness(BOTH, last, at("2025-06-16T12:00"), BERLIN) == Fresh()


@pytest.mark.requirement("D42")
@pytest.mark.parametrize(
    ("zone", "hour", "last", "boundary_utc"),
    [
        # 02:00 does not exist on this day in Berlin: the hour begins when the clocks land on 03:00.
        (BERLIN, 2, "2025-03-29T12:00", "2025-03-30T01:00"),
        # 02:00 happens twice on this day in Berlin: the first one counts.
        (BERLIN, 2, "2025-10-25T12:00", "2025-10-26T00:00"),
        (NEW_YORK, 2, "2025-03-08T12:00", "2025-03-09T07:00"),
        # Midnight itself is skipped.
        (ZoneInfo("America/Santiago"), 0, "2024-09-07T12:00", "2024-09-08T04:00"),
        # A whole day is skipped: the next valid instant is the start of the day after.
        (ZoneInfo("Pacific/Apia"), 4, "2011-12-29T12:00", "2011-12-30T10:00"),
    ],
)
def test_an_hour_the_clocks_skip_begins_where_they_land_and_a_double_hour_begins_first(
    zone: ZoneInfo, hour: int, last: str, boundary_utc: str
) -> None:
    stale = next_reset(ResetRule(mode=ResetMode.DAILY, at_hour=hour), at(last, zone), zone)
    assert stale is not None
    assert datetime.fromtimestamp(stale.boundary / 1000, UTC).isoformat() == f"{boundary_utc}:00+00:00"


def test_clocks_that_go_back_over_midnight_do_not_bring_a_second_reset() -> None:
    # In St John's, 2010-11-07 00:01 became 2010-11-06 23:01: midnight came twice, the date once went back.
    zone = ZoneInfo("America/St_Johns")
    rule = ResetRule(mode=ResetMode.DAILY, at_hour=0)
    after_the_first_midnight = at("2010-11-07T00:00", zone) + 5 * samples.MINUTE
    local = datetime.fromtimestamp(after_the_first_midnight / 1000, zone)
    assert (local.day, local.hour) == (6, 23)
    stale = next_reset(rule, after_the_first_midnight, zone)
    assert stale is not None
    assert stale.boundary == at("2010-11-08T00:00", zone)


@pytest.mark.requirement("D43")
def test_a_channel_setting_replaces_type_and_base() -> None:
    policy = ResetPolicy(
        base=ResetSetting(mode=ResetMode.DAILY, at_hour=6, idle_minutes=5),
        by_type={DIRECT: ResetSetting(mode=ResetMode.NONE)},
        by_channel={"discord": ResetSetting(mode=ResetMode.IDLE, idle_minutes=10_080)},
    )
    rule = resolve(policy, DIRECT, "discord")
    assert rule == ResetRule(
        mode=ResetMode.IDLE, idle_minutes=10_080, setting="session.resetByChannel.discord"
    )
    assert resolve(policy, DIRECT, "telegram").setting == "session.resetByType.direct"
    assert resolve(policy, GROUP, None).setting == "session.reset"


@pytest.mark.requirement("D43")
@pytest.mark.parametrize(
    ("base", "own", "mode", "hour", "idle"),
    [
        (None, ResetSetting(at_hour=7), ResetMode.DAILY, 7, 0),
        (ResetSetting(mode=ResetMode.IDLE, idle_minutes=30), ResetSetting(), ResetMode.IDLE, 4, 30),
        (ResetSetting(mode=ResetMode.NONE), ResetSetting(at_hour=0), ResetMode.DAILY, 0, 0),
        (ResetSetting(at_hour=6, idle_minutes=9), ResetSetting(mode=ResetMode.IDLE), ResetMode.IDLE, 6, 9),
        (ResetSetting(mode=ResetMode.DAILY), ResetSetting(mode=ResetMode.NONE), ResetMode.NONE, 4, 0),
    ],
)
def test_a_type_setting_is_laid_over_the_base(
    base: ResetSetting | None, own: ResetSetting, mode: ResetMode, hour: int, idle: int
) -> None:
    rule = resolve(ResetPolicy(base=base, by_type={GROUP: own}), GROUP, "telegram")
    assert (rule.mode, rule.at_hour, rule.idle_minutes) == (mode, hour, idle)


def test_without_any_setting_sessions_reset_daily_at_four() -> None:
    assert resolve(ResetPolicy(), DIRECT, None) == ResetRule(mode=ResetMode.DAILY, at_hour=4)


def test_a_base_without_a_mode_means_daily() -> None:
    assert (
        resolve(ResetPolicy(base=ResetSetting(at_hour=9)), DIRECT, None).name
        == "session.reset: daily at 09:00"
    )


@pytest.mark.requirement("D42")
def test_the_older_idle_setting_alone_means_idle_only() -> None:
    rule = resolve(ResetPolicy(idle_minutes=60), DIRECT, "telegram")
    assert (rule.mode, rule.name) == (ResetMode.IDLE, "session.idleMinutes: idle 60 min")


def test_the_older_idle_setting_gives_way_to_any_newer_one() -> None:
    by_type = {GROUP: ResetSetting(at_hour=5)}
    assert resolve(ResetPolicy(idle_minutes=60, by_type=by_type), DIRECT, None).setting == "default"
    with_base = ResetPolicy(idle_minutes=60, base=ResetSetting(mode=ResetMode.NONE))
    assert resolve(with_base, DIRECT, None).name == "session.reset: none"


def test_a_rule_with_both_windows_names_both() -> None:
    assert BOTH.name == "default: daily at 04:00, idle 120 min"


@pytest.mark.parametrize(
    ("key", "facts", "expected"),
    [
        (samples.MAIN, samples.DIRECT_FACTS, DIRECT),
        (samples.GROUP, samples.GROUP_FACTS, GROUP),
        (samples.MAIN, samples.GROUP_FACTS, GROUP),
        (samples.MAIN, Facts(kind=SessionKind.MAIN, chat_type=ChatType.CHANNEL), GROUP),
        (samples.MAIN, Facts(kind=SessionKind.MAIN, thread="9"), ConversationType.THREAD),
        (
            SessionKey(agent="main", kind=KeyKind.GROUP, channel="telegram", name="-100", topic="42"),
            samples.GROUP_FACTS,
            ConversationType.THREAD,
        ),
    ],
)
def test_the_type_of_a_conversation_comes_from_its_facts_and_its_key(
    key: SessionKey, facts: Facts, expected: ConversationType
) -> None:
    assert reset_type(key, facts) is expected


@pytest.mark.requirement("D43")
@pytest.mark.parametrize(
    ("key", "chat", "setting"),
    [
        # A client writes into a room: it is still the room's rule.
        (
            "agent:main:discord:channel:9",
            Facts(kind=SessionKind.GROUP, channel="webchat", chat_type=ChatType.CHANNEL),
            "session.resetByChannel.discord",
        ),
        (
            "agent:main:main",
            Facts(kind=SessionKind.MAIN, channel="discord"),
            "session.resetByChannel.discord",
        ),
        ("agent:main:main", Facts(kind=SessionKind.MAIN, channel="webchat"), "session.reset"),
        (
            "global",
            Facts(kind=SessionKind.MAIN, channel="telegram", chat_type=ChatType.GROUP),
            "session.resetByType.group",
        ),
        (
            "agent:main:subagent:x",
            Facts(kind=SessionKind.OTHER, channel="telegram", thread="7"),
            "session.resetByType.thread",
        ),
    ],
)
def test_the_chat_that_is_spoken_in_says_which_rule_holds(key: str, chat: Facts, setting: str) -> None:
    policy = ResetPolicy(
        base=ResetSetting(),
        by_type={GROUP: ResetSetting(), ConversationType.THREAD: ResetSetting()},
        by_channel={"discord": ResetSetting()},
    )
    assert rule_for(policy, SessionKey.parse(key), chat).setting == setting
