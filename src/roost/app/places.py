"""Where a gateway's own files lie."""

from pathlib import Path

from roost.config.source import STORE_FILE


def database_file(home: Path) -> Path:
    """Where the embedded store lives."""
    return home / STORE_FILE


def backup_folder(home: Path) -> Path:
    """Where backups lie that are not put elsewhere."""
    return home / "backups"


def export_folder(home: Path) -> Path:
    """Where exports are written."""
    return home / "exports"


def log_file(home: Path) -> Path:
    """Where a gateway keeps the lines of its log."""
    return home / "logs" / "gateway.log"
