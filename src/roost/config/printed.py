"""Credentials that a program prints: run when they are needed, for as long as nobody minds waiting."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from subprocess import DEVNULL, PIPE
from typing import TypeAlias

import anyio
from anyio.abc import Process

from roost.config.frozen import FrozenMap
from roost.config.providers import ModelDefinition, Provider
from roost.config.secretfields import SecretCommand
from roost.config.settings import Settings
from roost.core.errors import ConfigInvalid, InvalidInput
from roost.core.secrets import Secret

SECONDS = 30
_LARGEST = 1 << 16

_Given: TypeAlias = Secret | SecretCommand


def printing(settings: Settings) -> frozenset[str]:
    """The providers with such a credential."""

    def given(provider: Provider) -> Iterator[_Given | None]:
        yield provider.api_key
        yield from provider.headers.values()
        for model in provider.models:
            yield from model.headers.values()

    providers = settings.models.providers.items()
    return frozenset(
        name for name, one in providers if any(isinstance(it, SecretCommand) for it in given(one))
    )


async def printed(settings: Settings, *, seconds: float = SECONDS) -> Settings:
    """The settings with every such credential in place. One that cannot be had is refused by where it is given."""

    async def known(given: _Given, where: str) -> Secret:
        return given if isinstance(given, Secret) else await _run(given, where, seconds)

    async def all_known(given: FrozenMap[str, _Given], where: str) -> FrozenMap[str, _Given]:
        return FrozenMap({name: await known(one, f"{where}.{name}") for name, one in given.items()})

    async def of_model(model: ModelDefinition, where: str) -> ModelDefinition:
        headers = await all_known(model.headers, f"{where}.{model.id}.headers")
        return model.model_copy(update={"headers": headers})

    async def of_provider(provider: Provider, where: str) -> Provider:
        key = provider.api_key
        return provider.model_copy(
            update={
                "api_key": None if key is None else await known(key, f"{where}.apiKey"),
                "headers": await all_known(provider.headers, f"{where}.headers"),
                "models": tuple([await of_model(model, f"{where}.models") for model in provider.models]),
            }
        )

    providers = {
        name: await of_provider(provider, f"models.providers.{name}")
        for name, provider in settings.models.providers.items()
    }
    models = settings.models.model_copy(update={"providers": FrozenMap(providers)})
    return settings.model_copy(update={"models": models})


async def _run(command: SecretCommand, where: str, seconds: float) -> Secret:
    """Nothing that it printed is quoted, on either stream."""
    try:
        process = await anyio.open_process(
            command.argv, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, start_new_session=True
        )
    except OSError as error:
        raise _refused(where, f"cannot be run: {error.strerror}") from None
    try:
        with anyio.move_on_after(seconds) as limit:
            text, code = await _output(process), await process.wait()
    finally:
        await _end(process)
    if limit.cancelled_caught:
        raise _refused(where, f"did not end in {seconds:g} s")
    if code:
        raise _refused(where, f"ended with status {code}")
    try:
        return Secret(text.decode("utf-8").strip())
    except (UnicodeDecodeError, InvalidInput):
        raise _refused(where, "printed nothing that is a credential") from None


async def _output(process: Process) -> bytes:
    assert process.stdout is not None
    text = b""
    async for read in process.stdout:
        text += read
        if len(text) > _LARGEST:
            return b""
    return text


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.CancelScope(shield=True):
        await process.aclose()


def _refused(where: str, why: str) -> ConfigInvalid:
    return ConfigInvalid(f"{where}: the program that prints it {why}", hint="run it by hand and see")
