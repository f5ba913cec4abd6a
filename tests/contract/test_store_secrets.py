"""Configured secrets are in nothing that is written."""

from dataclasses import replace

import pytest

from roost.core.effects import AddDelivery, ChangeSession
from roost.core.inbound import Source
from roost.core.leases import Lease
from roost.core.ledger import Denial
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, SearchQuery
from roost.core.seals import Seals
from roost.core.search import parse_query
from roost.core.sessions import Labels
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.scenes import change, known, opened

SECRET, KEPT = "the-configured-secret", "{{secret:a.b}}"


@pytest.mark.requirement("P24")
async def test_what_is_written_names_secrets_instead_of_holding_them(store: Store, lease: Lease) -> None:
    store.keep_out(Seals({SECRET: "a.b"}))
    await opened(store)
    (entry,) = await store.append(MAIN, (builders.said("e-1", f"it is {SECRET}, really"),))
    await change(store, ChangeSession(key=MAIN, labels=Labels(label=SECRET)))
    await change(store, AddDelivery(delivery=builders.delivery("d-1", text=SECRET)))
    denial = Denial(at=NOON, operation="x", principal=OWNER, rule="r", reason=SECRET)
    await store.record_denial(denial)
    session, page = await known(store), await store.history(HistoryQuery(key=MAIN))
    written = (entry, session, page, await store.delivery("d-1"), await store.denials(1))
    assert [one for one in written if SECRET in repr(one) or KEPT not in repr(one)] == []
    assert session.summary.preview == f"it is {KEPT}, really"
    assert await store.search(SearchQuery(query=parse_query("configured"))) == ()


async def test_a_message_that_comes_again_is_known_by_what_was_kept_of_it(store: Store, lease: Lease) -> None:
    store.keep_out(Seals({SECRET: "a.b"}))
    source = Source(channel="loopback", external_id=SECRET)
    first = builders.inbound("m-1", text=SECRET, source=source)
    kept = await store.accept_inbound(first, builders.accept(first, "r-1", "s-1"))
    assert SECRET not in repr(kept.record.inbound.content)
    again = replace(first, id="m-2")
    found = await store.accept_inbound(again, builders.accept(again, "r-2", "s-2"))
    assert found.duplicate
    assert found.record.inbound.id == "m-1"
