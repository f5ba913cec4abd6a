"""What the one who imports decides."""

from roost.transfer.options import ImportOptions


def test_names_are_read_with_the_main_name_of_the_configuration() -> None:
    options = ImportOptions(now=0, main_name="home")
    assert str(options.key("ops", "main")) == "agent:ops:home"
    assert str(options.key("ops", "group:7", "slack")) == "agent:ops:slack:group:7"
