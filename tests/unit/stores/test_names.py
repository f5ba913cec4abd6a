from dataclasses import replace

from roost.core.keys import SessionKey
from roost.core.sessions import Labels, Summary
from roost.stores.names import SYNTHETIC, haystack, moment
from roost.testing import builders


def test_a_session_is_found_by_key_names_and_title_in_folded_form() -> None:
    row = replace(
        builders.session(),
        labels=Labels(label="Home", display_name="Straße", subject="The Plan", room="hidden", space="hidden"),
        summary=Summary(title="First Words", preview="hidden"),
    )
    assert haystack(row) == "agent:main:main\nhome\nstrasse\nthe plan\nfirst words"


def test_what_is_not_set_leaves_no_line() -> None:
    assert haystack(builders.session()) == "agent:main:main"


def test_without_a_cutoff_nothing_is_old() -> None:
    assert moment(7) == 7
    assert moment(0) == 0
    assert moment(None) < -(2**53)


def test_the_keys_that_no_person_talks_to_are_synthetic() -> None:
    texts = ("agent:main:subagent:one", "agent:main:acp:one", "agent:main:hook:one")
    assert {SessionKey.parse(text).kind for text in texts} == SYNTHETIC
