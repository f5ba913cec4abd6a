"""A method: what it takes, what it gives, and what a connection must be allowed to call it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from roost.core.grants import Role
from roost.protocol.params import Params
from roost.protocol.scopes import Scope

P = TypeVar("P", bound=Params)
R = TypeVar("R")

Needs: TypeAlias = Scope | Callable[[P], Scope | None] | None
"""A scope, None for whoever is connected, or what depends on the parameters, as its docstring says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method(Generic[P, R]):
    name: str
    params: type[P]
    result: type[R]
    needs: Needs[P]
    about: str = ""
    hidden: bool = False
    """Not advertised: clients call it without asking whether it is there."""
    owners: bool = False
    """About the gateway itself and everybody in it: only for who may see every session."""
    role: Role = Role.OPERATOR
    """Who calls it; nobody else may."""

    def scope(self, params: P) -> Scope | None:
        return self.needs if self.needs is None or isinstance(self.needs, Scope) else self.needs(params)
