"""The models that the configuration names."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from roost.config import Settings
from roost.config.casting import catalogue
from roost.config.providers import ModelDefinition, Provider
from roost.core.models import ModelRef
from roost.models.demo import SPEC as DEMO
from roost.models.demo import DemoModel
from roost.models.registry import Registry
from roost.models.retry import RetryingModel
from roost.ports import Clock, Model


def check_models(settings: Settings) -> None:
    """Raises what a start would: a model that is named and does not exist."""
    catalogue(settings, DEMO)


@asynccontextmanager
async def open_models(settings: Settings, clock: Clock) -> AsyncIterator[Registry]:
    models: dict[str, Model] = {DEMO.ref.provider: DemoModel(clock)}
    single: dict[ModelRef, Model] = {}
    async with AsyncExitStack() as stack:

        async def reached(name: str, provider: Provider, own: ModelDefinition | None = None) -> Model:
            from roost.app.adapters import adapter_of  # noqa: PLC0415 — who has no provider calls none

            adapter = await adapter_of(name, provider, own, clock)
            stack.push_async_callback(adapter.aclose)
            return RetryingModel(adapter, clock)

        for name, provider in settings.models.providers.items():
            models[name] = await reached(name, provider)
            for own in provider.models:
                if own.api or own.headers or own.params or own.compat:
                    single[ModelRef(name, own.id)] = await reached(name, provider, own)
        yield Registry(catalogue(settings, DEMO), models, single)
