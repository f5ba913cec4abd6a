"""What a search may show of a hit."""

from roost.core.entries import Entry
from roost.core.messages import Notice
from roost.core.passages import SNIPPET_CHARS, finding
from roost.core.queries import SearchHit
from roost.core.search import parse_query
from roost.scanners.stdlib import StdlibScanner
from roost.testing.builders import MAIN, said
from tests.credentials import mixed

KEY = "sk-" + mixed(30)
SCANNER = StdlibScanner()


def hit(text: str) -> SearchHit:
    draft = said("e-1", text)
    return SearchHit(key=MAIN, entry=Entry(session_id="s", seq=1, id=draft.id, body=draft.body))


def test_a_hit_is_shown_by_what_was_sought_without_its_secrets() -> None:
    one = hit(f"{'before ' * 100} the zebra has {KEY} {'after ' * 100}")
    found = finding(one, parse_query("zebra"), SCANNER)
    assert found is not None
    assert (found.hit, found.recalled.id) == (one, "e-1")
    assert "zebra" in found.snippet
    assert KEY not in found.snippet
    assert len(found.snippet) <= SNIPPET_CHARS


def test_what_may_not_be_read_is_not_found() -> None:
    assert finding(hit(f"the key is {KEY}"), parse_query(KEY), SCANNER) is None


def test_what_is_no_message_is_not_found() -> None:
    entry = Entry(session_id="s", seq=1, id="e-1", body=Notice(kind="zebra", at=1, data={}))
    assert finding(SearchHit(key=MAIN, entry=entry), parse_query("zebra"), SCANNER) is None
