"""The models that can be called, and who answers for each."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import TypeAlias

from roost.core.catalogue import Catalogue
from roost.core.models import FailureKind, ModelEvent, ModelFailed, ModelRef, ModelRequest, ModelSpec
from roost.models.retry import begun
from roost.ports import Model

Renew: TypeAlias = Callable[[], Awaitable[None]]


class Registry:
    """By provider, but for models that are reached in a way of their own. One that was replaced passes calls on."""

    def __init__(
        self, catalogue: Catalogue, providers: Mapping[str, Model], single: Mapping[ModelRef, Model]
    ) -> None:
        self.catalogue = catalogue
        self._providers = dict(providers)
        self._single = dict(single)
        self._newer: Registry | None = None
        self._renewable: frozenset[str] = frozenset()
        self._renew: Renew | None = None

    def renewed_by(self, renew: Renew, providers: frozenset[str]) -> None:
        """The credentials of these providers may be had anew: `renew` returns when they were, if they are others."""
        self._renew, self._renewable = renew, providers

    def model(self, spec: ModelSpec) -> Model:
        own = self._single.get(spec.ref) or self._providers[spec.ref.provider]
        return _Line(self, spec.ref, own)

    def renewal(self, provider: str) -> Renew | None:
        """How a credential that was refused is had anew, where it can be."""
        if self._newer is not None:
            return self._newer.renewal(provider)
        return self._renew if provider in self._renewable else None

    def replaced_by(self, newer: "Registry") -> None:
        self._newer = newer

    def latest(self, ref: ModelRef) -> Model | None:
        """A model as it is reached now, if it still is."""
        if self._newer is not None:
            return self._newer.latest(ref)
        return self._single.get(ref) or self._providers.get(ref.provider)


class _Line:
    """A model, found anew for each call: a changed credential counts for runs under way too. One that is reached no
    more is reached as it was. A refused credential that can be had anew is, and the call made again, once."""

    def __init__(self, registry: Registry, ref: ModelRef, own: Model) -> None:
        self._registry = registry
        self._ref = ref
        self._own = own

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        renew = self._registry.renewal(self._ref.provider)
        return self._latest().stream(request) if renew is None else self._renewing(renew, request)

    @asynccontextmanager
    async def _renewing(
        self, renew: Renew, request: ModelRequest
    ) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        model = self._latest()
        async with AsyncExitStack() as stack:
            try:
                begin = await begun(model, request, stack)
            except ModelFailed as failed:
                if failed.kind is not FailureKind.AUTH:
                    raise
                await renew()
                if self._latest() is model:
                    raise
                begin = await begun(self._latest(), request, stack)
            yield await stack.enter_async_context(aclosing(begin.events()))

    def _latest(self) -> Model:
        return self._registry.latest(self._ref) or self._own
