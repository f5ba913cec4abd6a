"""The composition root: the only part that names concrete adapters."""

from roost.app.auditing import audited, close_files
from roost.app.embedding import open_embedded
from roost.app.importing import import_folder
from roost.app.moving import Checked, check_store, copy_store, migrate_store
from roost.app.opening import database_file, open_engine, open_held_store, open_store
from roost.app.scanning import secret_scanner
from roost.app.serving import open_gateway

__all__ = [
    "Checked",
    "audited",
    "check_store",
    "close_files",
    "copy_store",
    "database_file",
    "import_folder",
    "migrate_store",
    "open_embedded",
    "open_engine",
    "open_gateway",
    "open_held_store",
    "open_store",
    "secret_scanner",
]
