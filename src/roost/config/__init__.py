"""Frozen settings from one JSON5 file and the environment; nothing else reads the environment."""

from roost.config.fingerprint import config_hash, shared_hash
from roost.config.problems import ConfigRefused, Problem
from roost.config.reload import Reload, at_once, changes, until_restart
from roost.config.remarks import Remark
from roost.config.secrets import configured_secrets
from roost.config.settings import Settings, as_document
from roost.config.source import ConfigSource, Loaded, Sources, from_environment, load

__all__ = [
    "ConfigRefused",
    "ConfigSource",
    "Loaded",
    "Problem",
    "Reload",
    "Remark",
    "Settings",
    "Sources",
    "as_document",
    "at_once",
    "changes",
    "config_hash",
    "configured_secrets",
    "from_environment",
    "load",
    "shared_hash",
    "until_restart",
]
