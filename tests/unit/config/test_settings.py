from roost.config.settings import Settings, as_document
from roost.core.secrets import Secret
from tests.unit.config.given import refused, settings

RICH = {
    "gateway": {"port": 9, "trustedProxies": ["10.0.0.0/8"]},
    "session": {"resetByType": {"dm": {"mode": "idle"}}, "identityLinks": {"a": ["x:1"]}},
    "agents": {"defaults": {"sandbox": {"mode": "all"}}, "entries": {"b": {"sandbox": {"mode": "off"}}}},
    "bindings": [{"agentId": "b", "match": {"channel": "x"}}],
    "channels": {"x": {"dmPolicy": "open", "accounts": {"y": {}}}},
    "cron": {"sessionRetention": False},
}


def test_settings_written_and_read_again_are_the_same() -> None:
    given = settings(RICH)
    assert settings(as_document(given)) == given
    assert as_document(settings(as_document(given))) == as_document(given)


def test_default_settings_are_those_of_an_empty_document() -> None:
    assert Settings() == settings({})


def test_a_binding_names_an_agent_there_is() -> None:
    agents = {"list": [{"id": "ops"}, {"id": "home"}]}
    bindings = [{"agentId": "opps", "match": {"channel": "x"}}, {"agentId": "zzz", "match": {"channel": "x"}}]
    problems = refused({"agents": agents, "bindings": bindings})
    assert problems["bindings[0].agentId"].reason == "there is no agent `opps`; did you mean `ops`?"
    assert problems["bindings[1].agentId"].reason == "there is no agent `zzz`; there is `ops` or `home`"


def test_a_database_is_postgresql_and_kept_as_a_secret() -> None:
    url = "postgresql://user:planted@host/name"
    assert settings({"database": url}).database == Secret(url)
    problem = refused({"database": "mysql://user:planted@host"})["database"]
    assert "postgresql://" in problem.reason
    assert "planted" not in str(problem)


def test_an_unknown_section_is_refused() -> None:
    assert refused({"sesion": {}})["sesion"].nearest == "session"
