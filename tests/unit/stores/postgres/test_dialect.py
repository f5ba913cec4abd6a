import pytest

from roost.stores.postgres.dialect import SQL, Numbered, in_postgresql, numbered


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("SELECT 1 FROM runs INDEXED BY runs_queued WHERE true", "SELECT 1 FROM runs WHERE true"),
        ("FROM json_each(:k)", "FROM json_array_elements_text(:k::json)"),
        (
            "a IN (SELECT value FROM json_each(:k))",
            "a = ANY(ARRAY(SELECT value FROM json_array_elements_text(:k::json)))",
        ),
        (
            "a NOT IN (SELECT value FROM json_each(?))",
            "a <> ALL(ARRAY(SELECT value FROM json_array_elements_text(?::json)))",
        ),
        ("instr(body, 'x') > 0", "strpos(body, 'x') > 0"),
        ("d.address ->> '$.channel'", "(d.address::json ->> 'channel')"),
    ],
)
def test_what_sqlite_says_in_other_words_is_translated(written: str, said: str) -> None:
    assert in_postgresql(written) == said


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("a = ? AND b = ?", Numbered("a = $1 AND b = $2", ())),
        ("a = ?1 OR b = ?1", Numbered("a = $1 OR b = $1", ())),
        ("a = :x AND b = :y AND c = :x", Numbered("a = $1 AND b = $2 AND c = $1", ("x", "y"))),
        ("a = :x::text::tsquery", Numbered("a = $1::text::tsquery", ("x",))),
        ("a = '12:30'", Numbered("a = '12:30'", ())),
    ],
)
def test_places_are_numbered(sql: str, found: Numbered) -> None:
    assert numbered(sql) == found


def test_values_come_in_the_order_of_their_names_and_others_are_left_out() -> None:
    assert numbered("a = :x AND b = :y").values({"y": 2, "z": 3, "x": 1}) == (1, 2)
    assert numbered("a = ? AND b = ?").values([1, 2]) == (1, 2)


def test_what_is_locked_is_asked_as_it_is_read() -> None:
    assert SQL["lock_session"] == f"{SQL['session']} FOR UPDATE"
    assert SQL["keep_lease"].endswith("FOR SHARE")
