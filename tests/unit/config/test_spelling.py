import pytest

from tests.unit.config.given import refused, settings


@pytest.mark.parametrize("written", [9, "9", " 9 ", 9.0, "+9"])
def test_a_whole_number_may_be_written_as_text(written: object) -> None:
    assert settings({"session": {"reset": {"atHour": written}}}).session.reset.at_hour == 9  # type: ignore[union-attr]


@pytest.mark.parametrize("written", [True, 9.5, "9.5", "nine", "", [], {}, -1, 24, "1" * 40])
def test_what_is_no_whole_number_in_range_is_refused(written: object) -> None:
    problem = refused({"session": {"reset": {"atHour": written}}})["session.reset.atHour"]
    assert problem.allowed == "integer from 0 to 23"


@pytest.mark.parametrize("written", [10**11 + 1, "999999999999999999"])
def test_a_number_that_nobody_could_reckon_with_is_refused_as_too_large(written: object) -> None:
    assert settings({"session": {"idleMinutes": 10**11}}).session.idle_minutes == 10**11
    problem = refused({"session": {"idleMinutes": written}})["session.idleMinutes"]
    assert (problem.reason, problem.allowed) == ("it is more than 100000000000", "integer, 1 or more")


@pytest.mark.parametrize("written", ["true", 1, 0, "yes", []])
def test_a_flag_is_true_or_false_and_nothing_like_it(written: object) -> None:
    assert refused({"cron": {"enabled": written}})["cron.enabled"].allowed == "`true` or `false`"


@pytest.mark.parametrize("written", ["", "  ", 5, ["x"]])
def test_text_is_not_blank_and_not_something_else(written: object) -> None:
    assert (
        refused({"agents": {"defaults": {"workspace": written}}})["agents.defaults.workspace"].allowed
        == "text"
    )


@pytest.mark.parametrize("name", ["main", "home", "Küche", "my-desk"])
def test_the_main_session_may_have_any_name_of_its_own(name: str) -> None:
    assert settings({"session": {"mainKey": name}}).session.main_key == name


@pytest.mark.parametrize(
    "name",
    [
        "direct:1",
        "cron:x",
        "telegram:group:1",
        "node-7",
        "global",
        "unknown",
        "current",
        "Current",
        "GLOBAL",
        "Unknown",
        "a:b",
        "x\x00",
    ],
)
def test_the_main_session_cannot_take_the_name_of_another_kind(name: str) -> None:
    assert "session.mainKey" in refused({"session": {"mainKey": name}})


def test_a_path_template_knows_the_agent_and_nothing_else() -> None:
    path = "~/agents/{agentId}/sessions.json"
    assert settings({"session": {"store": path}}).session.store == path
    assert "session.store" in refused({"session": {"store": "~/{user}/x"}})


@pytest.mark.parametrize("written", ["08:00", "23:59", "24:00"])
def test_a_time_of_day_has_four_digits(written: str) -> None:
    document = {"agents": {"defaults": {"heartbeat": {"activeHours": {"end": written}}}}}
    hours = settings(document).agents.defaults.heartbeat.active_hours
    assert hours is not None
    assert hours.end == written


@pytest.mark.parametrize("written", ["8:00", "24:01", "25:00", "08:60", 8])
def test_what_is_no_time_of_day_is_refused(written: object) -> None:
    document = {"agents": {"defaults": {"heartbeat": {"activeHours": {"end": written}}}}}
    assert "agents.defaults.heartbeat.activeHours.end" in refused(document)


@pytest.mark.parametrize("price", [-1, "1", True, float("nan"), float("inf")])
def test_a_price_is_a_number_that_can_be_paid(price: object) -> None:
    number = str(price).replace("nan", "NaN").replace("inf", "Infinity").replace("True", "true")
    written = f'"{price}"' if isinstance(price, str) else number
    document = f"{{models: {{providers: {{p: {{models: [{{id: 'm', cost: {{input: {written}}}}}]}}}}}}}}"
    assert "models.providers.p.models[0].cost.input" in refused(document)


@pytest.mark.parametrize("written", [False, 0, "0h"])
def test_a_retention_can_be_switched_off(written: object) -> None:
    assert settings({"cron": {"sessionRetention": written}}).cron.session_retention is None


def test_a_bare_retention_counts_hours_and_a_bare_age_days() -> None:
    given = settings({"cron": {"sessionRetention": 36}, "session": {"maintenance": {"pruneAfter": "14"}}})
    assert str(given.cron.session_retention) == "36h"
    assert str(given.session.maintenance.prune_after) == "14d"


def test_an_age_of_nothing_would_remove_everything_and_is_refused() -> None:
    assert "session.maintenance.pruneAfter" in refused({"session": {"maintenance": {"pruneAfter": "0d"}}})


def test_channel_names_fold_where_they_are_values_and_must_be_lower_case_where_they_are_keys() -> None:
    binding = {"agentId": "Main", "match": {"channel": "Discord"}}
    given = settings({"bindings": [binding]})
    assert (given.bindings[0].agent_id, given.bindings[0].match.channel) == ("main", "discord")
    assert "channels.Discord" in refused({"channels": {"Discord": {}}})


@pytest.mark.parametrize("written", ["Nowhere/Land", "../etc/passwd", "/etc/localtime", "", 5])
def test_what_is_no_time_zone_is_refused(written: object) -> None:
    assert "agents.defaults.userTimezone" in refused({"agents": {"defaults": {"userTimezone": written}}})
