from roost.core import toolnames


def test_every_name_is_among_those_there_are_and_none_twice() -> None:
    named = [value for name, value in vars(toolnames).items() if name.isupper() and name != "EVERY"]
    assert sorted(toolnames.EVERY) == sorted(named)
    assert len(set(toolnames.EVERY)) == len(toolnames.EVERY)
