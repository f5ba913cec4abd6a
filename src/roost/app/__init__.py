"""The composition root: the only part that names concrete adapters."""

from roost.app.auditing import audited, close_files
from roost.app.embedding import open_embedded
from roost.app.importing import import_folder
from roost.app.opening import open_engine, open_held_store, open_store
from roost.app.places import database_file
from roost.app.scanning import secret_scanner
from roost.app.serving import Served, open_gateway

__all__ = [
    "Served",
    "audited",
    "close_files",
    "database_file",
    "import_folder",
    "open_embedded",
    "open_engine",
    "open_gateway",
    "open_held_store",
    "open_store",
    "secret_scanner",
]
