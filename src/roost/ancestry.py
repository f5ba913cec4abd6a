"""Who started this process: a person, or an agent with its tool `exec`."""

import os

from roost.core.shells import SHELL_MARK


def is_of_agent() -> bool:
    """Whether it was started in an agent's shell. What is said from there is nobody's word."""
    name, value = SHELL_MARK
    return os.environ.get(name) == value  # noqa: TID251 — it is told to clients too, which have no configuration
