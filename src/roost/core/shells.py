"""How a program knows that an agent started it."""

SHELL_MARK = ("ROOST_SHELL", "exec")
"""A variable of its environment, and the value of it."""
