"""The models there are: found by `provider/model`, by an alias, or by a name that only one has.

Which of them a run should use, and why, is `core.casting`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from roost.core.errors import Forbidden, NotFound
from roost.core.models import ModelRef, ModelSpec

NAMED = 8


class Catalogue:
    """`allowed` are the models that may be asked for by name, None means all; what is configured may always be used.

    `unlisted` are the providers whose models are not listed: of theirs any name is known, as described there.
    """

    def __init__(
        self,
        specs: Iterable[ModelSpec],
        *,
        aliases: Mapping[str, ModelRef] | None = None,
        allowed: Iterable[ModelRef] | None = None,
        unlisted: Iterable[ModelSpec] = (),
    ) -> None:
        self._specs = {str(spec.ref).lower(): spec for spec in specs}
        self._aliases = {name.lower(): ref for name, ref in (aliases or {}).items()}
        self._allowed = None if allowed is None else frozenset(str(ref).lower() for ref in allowed)
        self._unlisted = {spec.ref.provider.lower(): spec for spec in unlisted}

    def specs(self) -> tuple[ModelSpec, ...]:
        """Every listed model that may be asked for, as configured."""
        return tuple(spec for spec in self._specs.values() if self.permits(spec))

    def permits(self, spec: ModelSpec) -> bool:
        return self._allowed is None or str(spec.ref).lower() in self._allowed

    def find(self, name: str) -> ModelSpec:
        """The model of that name. Raises `NotFound` with the nearest names."""
        wanted = name.strip()
        spec = self._named(str(self._aliases.get(wanted.lower(), wanted)))
        if spec is None:
            raise NotFound(f"there is no model {wanted}", hint=self._nearest(wanted))
        return spec

    def ask_for(self, name: str) -> ModelSpec:
        """The model of that name. Raises `NotFound`, or `Forbidden` where it is not on the allow list."""
        spec = self.find(name)
        if not self.permits(spec):
            raise Forbidden(f"the model {spec.ref} is not on the allow list", hint=self._nearest(name))
        return spec

    def offered(self, full: str) -> ModelSpec | None:
        """The model of that name, if it may be asked for."""
        spec = self._named(full)
        return spec if spec is not None and self.permits(spec) else None

    def aliased(self, name: str) -> ModelSpec | None:
        """The model that goes by an alias, if it may be asked for."""
        ref = self._aliases.get(name.lower())
        return None if ref is None else self.offered(str(ref))

    def _named(self, full: str) -> ModelSpec | None:
        if found := self._specs.get(full.lower()):
            return found
        provider, _, model = full.partition("/")
        if model and (like := self._unlisted.get(provider.lower())):
            return replace(like, ref=ModelRef(like.ref.provider, model))
        fitting = [spec for spec in self._specs.values() if spec.ref.model.lower() == full.lower()]
        return fitting[0] if len(fitting) == 1 else None

    def _nearest(self, wanted: str) -> str:
        names = sorted((str(spec.ref) for spec in self.specs()), key=str.lower)
        names += [name for name in self._aliases if self.aliased(name)]
        by_name = {name.lower(): name for name in names}
        near = get_close_matches(wanted.strip().lower(), by_name, n=3, cutoff=0.5)
        if near:
            return f"did you mean {', '.join(by_name[name] for name in near)}?"
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f"there are: {', '.join(names[:NAMED])}{more}" if names else "none is configured"
