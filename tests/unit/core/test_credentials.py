"""The table of credentials: what its rows must be like."""

import re

import pytest

from roost.core.credentials import RULES, Check, Rule
from tests.credentials import mixed


def test_there_are_enough_rules_and_each_has_its_own_name() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) >= 60
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_pattern_stays_in_the_subset_that_all_scanners_read_alike(rule: Rule) -> None:
    assert rule.pattern.isascii()
    assert re.compile(rule.pattern, re.ASCII).groups == 1
    assert not re.search(r"\\[wWdDsSAZzB1-9]|\(\?[=!<P#]", rule.pattern)
    outside_classes = re.sub(r"\[(?:\\.|[^\]])*\]", "x", rule.pattern)
    assert not re.search(r"[*+?}][+]", outside_classes), "possessive quantifiers are not RE2's"


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.folded], ids=lambda rule: rule.name)
def test_the_anchors_of_a_folded_rule_are_in_lower_case(rule: Rule) -> None:
    assert all(anchor == anchor.lower() for anchor in rule.anchors)


def test_a_rule_accepts_what_its_check_asks_for() -> None:
    def accepts(check: Check, secret: str) -> bool:
        return Rule(name="r", pattern="(x)", check=check).accepts(secret)

    assert accepts(Check.NONE, "hunter")
    assert accepts(Check.VALUE, "hunter")
    assert not accepts(Check.VALUE, "is")
    assert accepts(Check.GIVEN, "is")
    assert not accepts(Check.GIVEN, "$name")
    assert accepts(Check.GIVEN_IN_ADDRESS, "$name")
    assert not accepts(Check.GIVEN_IN_ADDRESS, "$NAME")
    assert accepts(Check.OPAQUE, "abcdefghijklmnopqrst")
    assert not accepts(Check.OPAQUE, "hunter")
    assert accepts(Check.MIXED, "hunter2")
    assert not accepts(Check.MIXED, "hunter")
    assert accepts(Check.RANDOM, mixed(20))
    assert not accepts(Check.RANDOM, "hunter2hunter2hunter2")
