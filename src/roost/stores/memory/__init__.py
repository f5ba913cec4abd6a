"""The reference store: every verb on rows in memory. Nothing outlives the process."""

from roost.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
