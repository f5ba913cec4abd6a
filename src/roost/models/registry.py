"""The models that can be called, and who answers for each."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager

from roost.core.catalogue import Catalogue
from roost.core.models import ModelEvent, ModelRef, ModelRequest, ModelSpec
from roost.ports import Model


class Registry:
    """By provider, but for models that are reached in a way of their own. One that was replaced passes calls on."""

    def __init__(
        self, catalogue: Catalogue, providers: Mapping[str, Model], single: Mapping[ModelRef, Model]
    ) -> None:
        self.catalogue = catalogue
        self._providers = dict(providers)
        self._single = dict(single)
        self._newer: Registry | None = None

    def model(self, spec: ModelSpec) -> Model:
        own = self._single.get(spec.ref) or self._providers[spec.ref.provider]
        return _Line(self, spec.ref, own)

    def replaced_by(self, newer: "Registry") -> None:
        self._newer = newer

    def latest(self, ref: ModelRef) -> Model | None:
        """A model as it is reached now, if it still is."""
        if self._newer is not None:
            return self._newer.latest(ref)
        return self._single.get(ref) or self._providers.get(ref.provider)


class _Line:
    """A model, found anew for each call: a changed credential counts for runs under way too. One that is reached no
    more is reached as it was."""

    def __init__(self, registry: Registry, ref: ModelRef, own: Model) -> None:
        self._registry = registry
        self._ref = ref
        self._own = own

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return (self._registry.latest(self._ref) or self._own).stream(request)
