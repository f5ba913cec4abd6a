from roost.core.sessions import Labels, Lineage, Summary
from roost.core.terms import Terms
from roost.stores.names import haystack, moment
from roost.testing import builders


def test_a_session_is_found_by_key_names_and_title_in_folded_form() -> None:
    row = builders.session()._replace(
        labels=Labels(label="Home", display_name="Straße", subject="The Plan", room="hidden", space="hidden"),
        summary=Summary(title="First Words", preview="hidden"),
    )
    assert haystack(row) == "agent:main:main\nhome\nstrasse\nthe plan\nfirst words"


def test_a_child_is_found_by_its_task_and_not_by_how_it_was_put_to_it() -> None:
    lineage = Lineage(parent=builders.MAIN, depth=1, terms=Terms(task="Inventory"))
    row = builders.session()._replace(lineage=lineage, summary=Summary(title="[Subagent Context] You"))
    assert haystack(row) == "agent:main:main\ninventory"


def test_what_is_not_set_leaves_no_line() -> None:
    assert haystack(builders.session()) == "agent:main:main"


def test_without_a_cutoff_nothing_is_old() -> None:
    assert moment(7) == 7
    assert moment(0) == 0
    assert moment(None) < -(2**53)
