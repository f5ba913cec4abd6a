"""What is derived in SQLite, made anew from what is not: indexes, search rows, summaries, feeds, kinship.

Nothing that anybody said is removed here; what lost its place gets a new one.
"""

from typing import Any

from roost.core.events import EventKind
from roost.core.keys import SessionKey
from roost.core.principals import OWNER
from roost.core.search import searchable_text
from roost.core.sessions import Counters, Session, Summary
from roost.core.summaries import count, summarise
from roost.stores.codec import key_text, stored_key
from roost.stores.sql.entry_rows import END
from roost.stores.sql.session_values import read_session
from roost.stores.sqlite.checking import SQL, expected_statistics, expected_structure, readable
from roost.stores.sqlite.search_rows import SearchRows, search_words
from roost.stores.tables import drive

SEARCH = "entry_search"


class RepairRows(SearchRows):
    def restore_structure(self) -> None:
        """Tables and indexes that are missing are made, every index is made anew, and plans are made as by a new store."""
        present = {row[0] for row in self._execute(SQL["parts"])}
        for name, statement in expected_structure().items():
            if name not in present:
                self._execute(statement).fetchall()
        self._execute("REINDEX").fetchall()
        self._execute(SQL["read_statistics"])
        self._execute(SQL["forget_statistics"])
        for row in expected_statistics():
            self._execute(SQL["put_statistics"], row)
        self._execute(SQL["read_statistics"])

    def restate_work(self) -> None:
        """What the columns say of a row is what its value says, and a budget holds what its calls do."""
        for statement in ("restate_runs", "restate_inbound", "restate_deliveries", "restate_budgets"):
            self._execute(SQL[statement])

    def adopt(self) -> None:
        """Entries without their generation, and generations without their session, get one; and the other way round."""
        for row in self._execute(SQL["lost_generations"]).fetchall():
            self._adopt_entries(int(str(row[0])))
        lost: list[Any] = self._execute(SQL["lost_sessions"]).fetchall()
        for number, session_id, opened_at in lost:
            self._open(number, session_id, opened_at)
        self._execute(SQL["open_headless"])

    def _adopt_entries(self, generation: int) -> None:
        home: Any = self._execute(SQL["home_of_entries"], (generation,)).fetchone()
        if home is None:
            free: Any = self._execute(SQL["free_session"]).fetchone()
            home = (free[0], f"recovered-{generation}")
            self._open(home[0], home[1], 0)
        bindings = {"generation": generation, "session": home[0], "session_id": home[1]}
        self._execute(SQL["adopt_entries"], bindings)

    def _open(self, number: int, session_id: str, at: int) -> None:
        key = self._free_key(session_id)
        bindings = {
            "session": number,
            "tenant": self._tenant,
            "key": key_text(key),
            "agent": key.agent,
            "shape": key.kind,
            "owner": str(OWNER),
            "session_id": session_id,
            "at": at,
        }
        self._execute(SQL["adopt_generations"], bindings)

    def _free_key(self, session_id: str) -> SessionKey:
        """The key it had, by what was paid for it, if no other session has it now."""
        row = self._execute(SQL["key_in_ledger"], (session_id,)).fetchone()
        if row is not None:
            return stored_key(str(row[0]))
        return SessionKey.named("main", f"recovered-{session_id.removeprefix('recovered-')}")

    def relink_children(self) -> None:
        for row in self._execute(SQL["unlinked_children"]).fetchall():
            self._execute(SQL["link_child"], row)
            self._execute(SQL["link_above"], row)

    def fill_feeds(self) -> None:
        """A number that is missing says that something changed: whoever follows the feed looks again."""
        for row in self._execute(SQL["gapped_events"]).fetchall():
            feed: Any = self._execute(SQL["feed_of"], row).fetchone()
            number, last = feed
            self._execute(SQL["raise_feed"], (last, number))
            bindings = {"session": number, "kind": EventKind.SESSION_CHANGED, "key": row[0]}
            self._execute(SQL["fill_feed"], bindings)

    def drop_search(self) -> int:
        """Begin the search index anew; the last entry that must be put into it, later ones are put there as they come."""
        self._execute(f"DROP TABLE IF EXISTS {SEARCH}").fetchall()
        self._execute(expected_structure()[SEARCH]).fetchall()
        row: Any = self._execute(SQL["last_entry"]).fetchone()
        return int(row[0])

    def index_entries(self, after: int, through: int, limit: int) -> int | None:
        """Put some entries into the search index; the last of them, None when there are no more."""
        last = None
        found: list[Any] = self._execute(SQL["entries_to_index"], (after, through, limit)).fetchall()
        for number, session, text in found:
            body = readable(text)
            if body is not None and (words := searchable_text(body)):
                self._execute(self.sql["insert_search"], (number, search_words(words, session)))
            last = int(number)
        return last

    def summarise_sessions(self, after: int, limit: int) -> int | None:
        """What some rows say of their transcripts is worked out again; the last of them, None when there are no more."""
        last = None
        found: list[Any] = self._execute(SQL["sessions_to_summarise"], (after, limit)).fetchall()
        for row in found:
            last = int(row[0])
            session = read_session(row)
            mended = self._summarised(session)
            if mended != session:
                drive(self.update_session(session, mended._replace(version=session.version + 1)))
        return last

    def _summarised(self, session: Session) -> Session:
        """Counters are worked out again only when entries were miscounted: those of an import are its own."""
        texts: list[Any] = self._execute(self.sql["entries"], (session.session_id, 0, END)).fetchall()
        bodies = [body for row in texts if (body := readable(row[2])) is not None]
        entries = max((row[0] for row in texts), default=0)
        summary = summarise(Summary(), bodies)._replace(entries=entries)
        if summary.entries == session.summary.entries:
            return session if summary == session.summary else session._replace(summary=summary)
        fresh = Counters(context_window=session.counters.context_window)
        return session._replace(summary=summary, counters=count(fresh, bodies))
