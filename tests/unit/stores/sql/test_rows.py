import pytest

from roost.core.keys import SessionKey
from roost.core.principals import OWNER
from roost.core.visibility import EVERYTHING, VisibleScope
from roost.stores.sql.rows import FILTERS, Binding, filtered, scope_conditions
from roost.stores.sqlite.rows import SQL
from roost.testing.builders import MAIN

CHILD = SessionKey.named("main", "child")


@pytest.mark.parametrize(
    ("scope", "conditions"),
    [
        (EVERYTHING, []),
        (VisibleScope(agents=None, owner=OWNER), ["where_owner"]),
        (VisibleScope(agents=None, owner=OWNER, self_key=MAIN), ["where_of_owner"]),
        (VisibleScope(agents=None, owner=OWNER, tree_of=MAIN), ["where_of_owner"]),
        (VisibleScope(self_key=MAIN, tree_of=MAIN), ["where_in_tree"]),
        (VisibleScope(agents=frozenset({"main"}), owner=OWNER), ["where_of_agents"]),
        (VisibleScope(), ["where_in_tree"]),
    ],
)
def test_every_scope_but_everything_narrows_a_query(scope: VisibleScope, conditions: list[str]) -> None:
    assert scope_conditions(scope, {}) == conditions


def test_a_scope_binds_what_its_condition_names() -> None:
    bindings: dict[str, Binding] = {"tenant": "default"}
    scope = VisibleScope(agents=frozenset({"b", "a"}), owner=OWNER, self_key=CHILD, tree_of=MAIN)
    scope_conditions(scope, bindings)
    assert bindings == {
        "tenant": "default",
        "agents": '["a","b"]',
        "owner": str(OWNER),
        "self_key": str(CHILD),
        "tree_of": str(MAIN),
    }


def test_conditions_stand_where_the_statement_leaves_room() -> None:
    statement = filtered(SQL, "sessions", ["where_agent", "where_label"])
    assert FILTERS not in statement
    assert statement.index(SQL["where_agent"]) < statement.index(SQL["where_label"])
    assert statement.index(SQL["where_label"]) < statement.index("ORDER BY")
    assert FILTERS not in filtered(SQL, "sessions", [])
