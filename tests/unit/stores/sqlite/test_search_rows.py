from roost.core.search import Query
from roost.stores.sqlite.search_rows import match_text


def test_phrases_are_quoted_and_all_of_them_are_wanted() -> None:
    assert match_text(Query(phrases=(("two", "words"), ('a"b',)))) == '"two words" AND "a""b"'
