"""What clients are told of a session: each event is given to those who may see it."""

from collections.abc import Iterator

from roost.core.jsonvalue import JsonObject
from roost.core.keys import SessionKey
from roost.core.redaction import redact
from roost.core.sessions import Session
from roost.engine.subscriptions import may_list
from roost.protocol.convert.turns import answer, never_answered
from roost.protocol.events import CHAT, Audience, WireEvent
from roost.server.clients import Connected
from roost.server.house import House


class Telling:
    def __init__(self, house: House) -> None:
        self._house = house

    async def answered(self, name: str, key: SessionKey, text: str | None) -> None:
        """Tell the readers of a session of what no run answers."""
        shown = text and self._masked(text)
        await self._chat(name, answer(name, str(key), key.agent, shown, self._house.clock.now()), key)
        self._house.clients.over(key, name)

    async def injected(self, key: SessionKey, entry_id: str, text: str) -> None:
        """Tell them of a line that was put into a session."""
        name, now = f"inject-{entry_id}", self._house.clock.now()
        told = answer(name, str(key), key.agent, self._masked(text), now)
        await self._chat(name, {**told, "seq": 0}, key)

    async def lost(self, name: str, key: SessionKey, reason: str) -> None:
        """Tell them of what will never be answered."""
        await self._chat(name, never_answered(name, str(key), key.agent, self._masked(reason)), key)
        self._house.clients.over(key, name)

    async def of(self, key: SessionKey, *events: WireEvent) -> None:
        """Whose session it is matters only where somebody may not see all. Of one that is gone nobody can tell any more."""
        clients = self._house.clients
        if all(client.caller.rules_all for client in clients):
            clients.tell(*events)
        elif session := await self._house.store.session(key):
            self.seen(session, *events)
        else:
            self.ruling(*events)

    def seen(self, session: Session, *events: WireEvent) -> None:
        self._house.clients.tell(*events, among=self._seeing(session))

    def ruling(self, *events: WireEvent) -> None:
        """Tell those alone who may see every session."""
        ruling = [client for client in self._house.clients if client.caller.rules_all]
        self._house.clients.tell(*events, among=ruling)

    def _masked(self, text: str) -> str:
        return redact(text, self._house.scanner)[0]

    async def _chat(self, name: str, payload: JsonObject, key: SessionKey) -> None:
        await self.of(
            key, WireEvent(name=CHAT, payload=payload, audience=Audience.READERS, key=key, run=name)
        )

    def _seeing(self, session: Session) -> Iterator[Connected]:
        for client in self._house.clients:
            if client.caller.rules_all or may_list(client.caller, session):
                yield client
