import pytest

from roost.ancestry import is_of_agent
from roost.client.handshake import Introduction


@pytest.mark.parametrize(("found", "of_agent"), [("exec", True), ("zsh", False), (None, False)])
def test_a_process_knows_whether_an_agent_started_it(
    found: str | None, of_agent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROOST_SHELL", raising=False)
    if found is not None:
        monkeypatch.setenv("ROOST_SHELL", found)
    assert is_of_agent() is of_agent
    asked = Introduction().params()["scopes"]
    assert isinstance(asked, list)
    assert (asked == ["operator.read"]) is of_agent
