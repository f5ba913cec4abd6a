"""What is said in sessions, and what becomes of them."""

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import rule

from roost.core.addresses import Address
from roost.core.effects import (
    AnswerInput,
    ChangeSession,
    DeleteSession,
    Effect,
    Effects,
    KillInput,
    OpenGeneration,
)
from roost.core.entries import EntryDraft
from roost.core.imports import ImportedSession
from roost.core.inbound import Inbound
from roost.core.keys import SessionKey
from roost.core.points import deleting, saving
from roost.core.principals import Principal
from roost.core.snapshots import Snapshot
from roost.testing import builders
from tests.contract import pools
from tests.contract.machine.twins import Twins


class Conversations(Twins):
    @rule(effects=pools.several_effects)
    def change(self, effects: Effects) -> None:
        self._change(*effects)

    @rule(effect=pools.effects)
    def change_one_thing(self, effect: Effect) -> None:
        self._change(effect)

    @rule(
        key=pools.keys,
        drafts=pools.drafts(),
        address=pools.addresses,
        name=st.none() | st.sampled_from(pools.GENERATIONS),
        archived=st.booleans(),
    )
    def write(
        self,
        key: SessionKey,
        drafts: tuple[EntryDraft, ...],
        address: Address,
        name: str | None,
        archived: bool,
    ) -> None:
        def reset(snapshot: Snapshot) -> Effects:
            if snapshot.generation is None or name is None:
                return ()
            number = snapshot.generation.number + 1
            generation = builders.generation(key, name, number, at=self._clock.now())
            return (OpenGeneration(generation=replace(generation, archived=archived)),)

        self._both(lambda store: store.change_session(key, reset))
        self._both(lambda store: store.append(key, drafts))
        moved = ChangeSession(key=key, route=address)
        self._both(lambda store: store.change_session(key, lambda _: (moved,)))

    @rule(imported=pools.imports())
    def bring_in(self, imported: ImportedSession) -> None:
        self._both(lambda store: store.import_session(imported))

    @rule(sessions=st.lists(pools.imports(), min_size=1, max_size=2).map(tuple), room=st.booleans())
    def bring_in_anew(self, sessions: tuple[ImportedSession, ...], room: bool) -> None:
        if room:
            for imported in sessions:
                self._change(DeleteSession(key=imported.session.key))
        self._both(lambda store: store.import_new(sessions))

    @rule(key=pools.keys, effects=pools.several_effects)
    def change_below(self, key: SessionKey, effects: Effects) -> None:
        self._seen(lambda store, seen: store.change_tree(key, seen), effects)

    @rule(key=pools.keys, effects=pools.several_effects, named=st.sets(st.sampled_from(("home", "work"))))
    def spawn_below(self, key: SessionKey, effects: Effects, named: set[str]) -> None:
        self._seen(lambda store, seen: store.spawn(key, seen, frozenset(named)), effects)

    @rule(message=pools.inbound(), answered=st.booleans(), effects=pools.several_effects, plain=st.booleans())
    def order(self, message: Inbound, answered: bool, effects: Effects, plain: bool) -> None:
        end: Effect = AnswerInput(inbound=message, command="/stop", answer="stopped")
        if not answered:
            end = KillInput(inbound_id=message.id, reason="unknown", inbound=message)
        decided = (end, *(() if plain else effects))
        self._seen(lambda store, seen: store.accept_command(message, seen), decided)

    @rule(key=pools.keys, name=st.sampled_from(pools.POINTS), at=pools.moments, by=pools.principals)
    def save(self, key: SessionKey, name: str, at: int, by: Principal) -> None:
        self._both(lambda store: store.change_points(key, saving(name, at, by)))

    @rule(key=pools.keys, name=st.sampled_from(pools.POINTS))
    def unsave(self, key: SessionKey, name: str) -> None:
        self._both(lambda store: store.change_points(key, deleting(name)))
