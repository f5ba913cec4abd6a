import pytest

from tests.unit.config.given import ENVIRON, refused

PLANTED = "planted-7f3a"


def test_every_problem_is_named_at_once_each_with_its_path() -> None:
    problems = refused(
        """
        {
          gateway: { port: 70000, auth: { tokn: "x" } },
          session: { dmScope: "per-chanel-peer", reset: { atHour: 24, mode: null } },
          tools: { allow: ["a"], alsoAllow: ["b"], profil: "full" },
          hooks: { token: "${GONE}" },
          channels: { Telegram: {} },
          agents: { list: [{ id: "a" }, {}] },
          messages: [],
        }
        """
    )
    assert set(problems) == {
        "gateway.port",
        "gateway.auth.tokn",
        "session.dmScope",
        "session.reset.atHour",
        "session.reset.mode",
        "tools.alsoAllow",
        "tools.profil",
        "hooks.token",
        "channels.Telegram",
        "agents.list[1].id",
        "messages",
    }


def test_an_unknown_key_names_the_nearest_one_and_all_there_are() -> None:
    problem = refused({"session": {"reset": {"athour": 4}}})["session.reset.athour"]
    assert (problem.reason, problem.nearest, problem.allowed) == (
        "unknown key",
        "atHour",
        "mode, atHour, idleMinutes",
    )


def test_a_key_in_the_wrong_section_is_found_in_the_right_one() -> None:
    assert refused({"dmScope": "main"})["dmScope"].nearest == "session.dmScope"
    assert refused({"qwertz": 1})["qwertz"].nearest == ""


def test_a_bad_choice_names_the_nearest_one() -> None:
    problem = refused({"session": {"dmScope": "per-chanel-peer"}})["session.dmScope"]
    assert problem.reason == 'found "per-chanel-peer"'
    assert problem.nearest == "per-channel-peer"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (70000, "found 70000"),
        (True, "found true"),
        (1.5, "found 1.5"),
        ("x", 'found "x"'),
        ("", "found empty text"),
        ("x" * 25, "found text"),
        ([], "found a list"),
        ({}, "found an object"),
    ],
)
def test_what_was_found_is_said_briefly(value: object, found: str) -> None:
    assert refused({"gateway": {"port": value}})["gateway.port"].reason == found


@pytest.mark.parametrize(
    ("document", "path", "allowed"),
    [
        ({"gateway": "x"}, "gateway", "object"),
        ({"session": {"resetTriggers": "/new"}}, "session.resetTriggers", "list of text"),
        ({"session": {"resetByChannel": []}}, "session.resetByChannel", "object"),
        ([], "the document", "object"),
        ("7", "the document", "object"),
    ],
)
def test_a_wrong_kind_of_value_is_refused(document: object, path: str, allowed: str) -> None:
    assert refused(document)[path].allowed == allowed


@pytest.mark.requirement("S24")
@pytest.mark.parametrize(
    "document",
    [
        {"gateway": {"auth": {"token": [PLANTED]}}},
        {"gateway": {"auth": {"token": {"file": 5, PLANTED: 1}}}},
        {"gateway": {"auth": PLANTED}},
        {"gateway": {"auth": {"tokn": PLANTED}}},
        {"gateway": {"port": "${SECRET}"}},
        {"database": PLANTED},
        {"models": {"providers": {"p": {"headers": PLANTED}}}},
    ],
)
def test_no_message_repeats_what_may_be_a_secret(document: object) -> None:
    problems = refused(document, {**ENVIRON, "SECRET": PLANTED})
    assert problems
    assert PLANTED not in str([str(problem) for problem in problems.values()])


def test_one_place_has_one_problem() -> None:
    assert list(refused({"gateway": {"port": None}})) == ["gateway.port"]
