"""The embedded store: one SQLite file, one writer thread with group commit, a few readers."""

from roost.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
