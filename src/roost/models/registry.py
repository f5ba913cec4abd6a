"""The models there are: found by `provider/model`, by an alias, or by a name that only one has.

Which model a session should use, and why, is decided elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from roost.core.errors import Forbidden, InvalidInput, NotFound
from roost.core.models import ModelRef, ModelSpec
from roost.ports import Model

NAMED = 8


@dataclass(frozen=True, slots=True)
class Resolved:
    """A model that can be called."""

    spec: ModelSpec
    model: Model


class Registry:
    """`allowed` are the models that may be asked for by name; None means all."""

    def __init__(
        self,
        models: Mapping[str, Model],
        specs: Iterable[ModelSpec],
        *,
        aliases: Mapping[str, ModelRef] | None = None,
        allowed: Iterable[ModelRef] | None = None,
    ) -> None:
        self._models = dict(models)
        self._specs = {str(spec.ref).lower(): spec for spec in specs}
        self._aliases = {name.lower(): str(ref).lower() for name, ref in (aliases or {}).items()}
        self._allowed = None if allowed is None else frozenset(str(ref).lower() for ref in allowed)
        unknown = {spec.ref.provider for spec in self._specs.values()} - set(self._models)
        if unknown:
            raise InvalidInput(f"no model is reached at {', '.join(sorted(unknown))}")

    def specs(self) -> tuple[ModelSpec, ...]:
        """Every model that may be asked for, by name."""
        return tuple(spec for name, spec in sorted(self._specs.items()) if self._may(name))

    def resolve(self, name: str) -> Resolved:
        """The model of that name. Raises `NotFound`, or `Forbidden` where it is not on the allow list."""
        wanted = name.strip().lower()
        full = self._full(self._aliases.get(wanted, wanted))
        spec = self._specs.get(full)
        if spec is None:
            raise NotFound(f"there is no model {name.strip()}", hint=self._nearest(wanted))
        if not self._may(full):
            raise Forbidden(f"the model {spec.ref} is not on the allow list", hint=self._nearest(wanted))
        return Resolved(spec, self._models[spec.ref.provider])

    def _full(self, wanted: str) -> str:
        if wanted in self._specs:
            return wanted
        named = [name for name, spec in self._specs.items() if spec.ref.model.lower() == wanted]
        return named[0] if len(named) == 1 else wanted

    def _may(self, full: str) -> bool:
        return self._allowed is None or full in self._allowed

    def _nearest(self, wanted: str) -> str:
        names = [str(spec.ref) for spec in self.specs()]
        names += [name for name, full in self._aliases.items() if full in self._specs and self._may(full)]
        by_name = {name.lower(): name for name in names}
        near = get_close_matches(wanted, by_name, n=3, cutoff=0.5)
        if near:
            return f"did you mean {', '.join(by_name[name] for name in near)}?"
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f"there are: {', '.join(names[:NAMED])}{more}" if names else "none is configured"
