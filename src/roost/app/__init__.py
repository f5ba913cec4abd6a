"""The composition root: the only part that names concrete adapters. Each entrance is loaded when it is first used."""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roost.app.auditing import audited, close_files
    from roost.app.embedding import open_embedded
    from roost.app.finding import serving_addresses
    from roost.app.importing import import_folder, import_session
    from roost.app.moving import Checked, check_store, copy_store, migrate_store
    from roost.app.opening import open_engine, open_held_store, open_store
    from roost.app.places import database_file
    from roost.app.scanning import secret_scanner
    from roost.app.serving import Served, open_gateway

__all__ = [
    "Checked",
    "Served",
    "audited",
    "check_store",
    "close_files",
    "copy_store",
    "database_file",
    "import_folder",
    "import_session",
    "migrate_store",
    "open_embedded",
    "open_engine",
    "open_gateway",
    "open_held_store",
    "open_store",
    "secret_scanner",
    "serving_addresses",
]

_PLACES = MappingProxyType(
    {
        "audited": "auditing",
        "Checked": "moving",
        "Served": "serving",
        "check_store": "moving",
        "close_files": "auditing",
        "copy_store": "moving",
        "database_file": "places",
        "import_folder": "importing",
        "import_session": "importing",
        "migrate_store": "moving",
        "open_embedded": "embedding",
        "open_engine": "opening",
        "open_gateway": "serving",
        "open_held_store": "opening",
        "open_store": "opening",
        "secret_scanner": "scanning",
        "serving_addresses": "finding",
    }
)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
