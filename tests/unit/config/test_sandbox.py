from roost.config.amounts import ByteSize
from roost.config.sandbox import SandboxMode
from tests.unit.config.given import refused, settings


def test_a_sandbox_is_off_closed_and_bounded_until_something_else_is_said() -> None:
    sandbox = settings({}).agents.default.sandbox
    assert (sandbox.mode, sandbox.network) == (SandboxMode.OFF, False)
    assert (sandbox.max_processes, sandbox.max_memory) == (256, ByteSize.parse("2gb"))


def test_an_agent_says_only_what_differs() -> None:
    document = {
        "agents": {
            "defaults": {"sandbox": {"mode": "all", "maxMemory": "512mb", "network": True}},
            "list": [{"id": "a", "sandbox": {"maxProcesses": 0}}],
        }
    }
    (agent,) = settings(document).agents.list
    own = agent.sandbox
    assert (own.mode, own.network, own.max_processes) == (SandboxMode.ALL, True, 0)
    assert own.max_memory == ByteSize.parse("512mb")


def test_a_limit_below_zero_is_refused() -> None:
    document = {"agents": {"defaults": {"sandbox": {"maxProcesses": -1, "maxFileSize": "many"}}}}
    assert list(refused(document)) == [
        "agents.defaults.sandbox.maxProcesses",
        "agents.defaults.sandbox.maxFileSize",
    ]
