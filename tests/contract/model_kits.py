"""The models that must keep the contract, each told what to do in the same words."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from roost.core.secrets import Secret
from roost.models.endpoints import Endpoint
from roost.models.library.anthropic import ANTHROPIC
from roost.models.library.google import GOOGLE
from roost.models.library.model import HostedModel, Wire
from roost.models.library.ollama import OLLAMA
from roost.models.library.responses import RESPONSES
from roost.models.openai import OpenAIModel
from roost.models.retry import RetryingModel
from roost.ports import Model
from roost.testing import fake_anthropic, fake_google, fake_responses
from roost.testing.clock import FakeClock
from roost.testing.fake_http import FakeEndpoint, Reply
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Script

KEY = Secret("sk-contract-key")


class Provider(Protocol):
    """What stands behind a model: it is told what to do, and sees calls come and go."""

    async def asked(self, count: int) -> None: ...

    async def left(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """A model, what stands behind it, and how that is told what to do next."""

    model: Model
    provider: Provider
    told: Callable[[Script], None]


@asynccontextmanager
async def scripted_kit() -> AsyncIterator[Kit]:
    model = ScriptedModel(clock=FakeClock())
    yield Kit(model=model, provider=model, told=model.add)


@asynccontextmanager
async def openai_kit() -> AsyncIterator[Kit]:
    async with FakeOpenAI() as server:
        endpoint = Endpoint(provider="local", base_url=server.base_url, key=KEY)
        model = OpenAIModel(endpoint, FakeClock())
        yield Kit(model=model, provider=server, told=lambda script: server.add(reply_of(script)))
        await model.aclose()


@asynccontextmanager
async def retrying_kit() -> AsyncIterator[Kit]:
    async with openai_kit() as kit:
        model = RetryingModel(kit.model, FakeClock(), attempts=1)
        yield Kit(model=model, provider=kit.provider, told=kit.told)


@asynccontextmanager
async def hosted_kit(wire: Wire, path: str, written: Callable[[Script], Reply]) -> AsyncIterator[Kit]:
    async with FakeEndpoint() as server:
        endpoint = Endpoint(provider="local", base_url=server.url + path, key=KEY)
        model = HostedModel(endpoint, FakeClock(), wire)
        yield Kit(model=model, provider=server, told=lambda script: server.add(written(script)))
        await model.aclose()


def ollama_reply(script: Script) -> Reply:
    return reply_of(script, thinking="reasoning")


KITS: dict[str, Callable[[], AbstractAsyncContextManager[Kit]]] = {
    "scripted": scripted_kit,
    "openai": openai_kit,
    "retrying": retrying_kit,
    "responses": partial(hosted_kit, RESPONSES, "/v1", fake_responses.reply_of),
    "anthropic": partial(hosted_kit, ANTHROPIC, "", fake_anthropic.reply_of),
    "google": partial(hosted_kit, GOOGLE, "/v1beta", fake_google.reply_of),
    "ollama": partial(hosted_kit, OLLAMA, "", ollama_reply),
}
