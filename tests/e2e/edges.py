"""Strangers at a gateway's port: what they try, and devices with keys of their own."""

import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from roost.app.serving import Served
from tests.e2e.test_gateway import CONNECT, Caller

CLIENT: dict[str, str] = {"id": "cli", "version": "1", "platform": "linux", "mode": "cli"}
ALL = ["operator.admin", "operator.read", "operator.write", "operator.pairing"]


def configured(home: Path, gateway: object) -> Path:
    (home / "roost.json").write_text(json.dumps({"gateway": gateway}))
    return home


def secret_of(gateway: Served) -> str:
    assert gateway.token_file is not None
    return gateway.token_file.read_text().strip()


class Knocking(Caller):
    """Connected and challenged, not yet in."""

    challenge: dict[str, Any]

    async def ask(self, **changes: object) -> dict[str, Any]:
        """The answer to `connect`."""
        return await self.call("connect", {**CONNECT, "client": CLIENT, **changes})

    async def ended(self) -> tuple[int | None, str]:
        """How the gateway closed."""
        try:
            while True:
                self.events.append(await self.frame())
        except ConnectionClosed:
            return self._socket.close_code, self._socket.close_reason or ""


@asynccontextmanager
async def knocking(gateway: Served, headers: Mapping[str, str] | None = None) -> AsyncIterator[Knocking]:
    async with connect(
        gateway.url, compression=None, max_size=None, additional_headers=dict(headers or {})
    ) as socket:
        caller = Knocking(socket)
        caller.challenge = (await caller.frame())["payload"]
        yield caller


async def refused(gateway: Served, headers: Mapping[str, str] | None = None, **changes: object) -> str:
    """The code somebody is turned away with."""
    async with knocking(gateway, headers) as caller:
        answer = await caller.ask(**changes)
        assert not answer["ok"], answer
        assert (await caller.ended())[0] in {1008, 1013}
        return str(answer["error"]["details"]["code"])


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Device:
    """A device as clients have it: it signs each challenge."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()
        self._public = self._key.public_key().public_bytes_raw()
        self.id = sha256(self._public).hexdigest()

    def block(
        self,
        challenge: Mapping[str, Any],
        *,
        scopes: list[str],
        secret: str = "",
        form: str = "v3",
        role: str = "operator",
        **changes: object,
    ) -> dict[str, object]:
        parts = [form, self.id, CLIENT["id"], CLIENT["mode"], role, ",".join(scopes)]
        parts += [str(challenge["ts"]), secret, challenge["nonce"]]
        parts += [CLIENT["platform"], ""] if form == "v3" else []
        signature = self._key.sign("|".join(parts).encode())
        return {
            "id": self.id,
            "publicKey": _text(self._public),
            "signature": _text(signature),
            "signedAt": challenge["ts"],
            "nonce": challenge["nonce"],
            **changes,
        }

    async def ask(
        self,
        caller: Knocking,
        scopes: list[str] | None = None,
        auth: dict[str, str] | None = None,
        **how: Any,
    ) -> dict[str, Any]:
        wanted = scopes or ["operator.read"]
        given = auth or {}
        secret = given.get("token") or given.get("deviceToken") or given.get("bootstrapToken") or ""
        block = self.block(caller.challenge, scopes=wanted, secret=secret, **how)
        return await caller.ask(scopes=wanted, auth=given, device=block)

    async def knock(self, gateway: Served, scopes: list[str] | None = None, **auth: str) -> dict[str, Any]:
        """One attempt on a connection of its own."""
        async with knocking(gateway) as caller:
            return await self.ask(caller, scopes, auth)


@asynccontextmanager
async def owner(gateway: Served, scopes: list[str] | None = None) -> AsyncIterator[Knocking]:
    async with knocking(gateway) as caller:
        answer = await caller.ask(scopes=scopes or ALL, auth={"token": secret_of(gateway)})
        assert answer["ok"], answer
        yield caller
