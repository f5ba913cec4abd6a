"""What a model is told before a conversation."""

from roost.core.systemtext import system_text


def test_an_agent_is_told_who_it_is_and_how_to_be_silent() -> None:
    text = system_text("main", workspace="/somewhere", tools=())
    assert "'main'" in text
    assert "NO_REPLY" in text
    assert "/somewhere" not in text


def test_an_agent_with_tools_is_told_which_and_where_they_act() -> None:
    text = system_text("main", workspace="/somewhere", tools=("read", "exec"))
    assert "/somewhere" in text
    assert "read, exec" in text
