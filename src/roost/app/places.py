"""Where a gateway's own files lie."""

from pathlib import Path


def database_file(home: Path) -> Path:
    """Where the embedded store lives."""
    return home / "roost.db"
