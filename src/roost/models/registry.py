"""The models that can be called, and who answers for each."""

from collections.abc import Mapping

from roost.core.catalogue import Catalogue
from roost.core.models import ModelRef, ModelSpec
from roost.ports import Model


class Registry:
    """By provider, but for models that are reached in a way of their own."""

    def __init__(
        self, catalogue: Catalogue, providers: Mapping[str, Model], single: Mapping[ModelRef, Model]
    ) -> None:
        self.catalogue = catalogue
        self._providers = dict(providers)
        self._single = dict(single)

    def model(self, spec: ModelSpec) -> Model:
        return self._single.get(spec.ref) or self._providers[spec.ref.provider]
