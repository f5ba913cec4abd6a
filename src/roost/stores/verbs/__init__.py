"""The verbs of the store, written once over rows; each module is one aggregate."""

from roost.stores.verbs.budgets import BudgetVerbs
from roost.stores.verbs.facts import FactVerbs
from roost.stores.verbs.fleet import FleetVerbs
from roost.stores.verbs.imports import ImportVerbs
from roost.stores.verbs.inbox import InboxVerbs
from roost.stores.verbs.jobs import JobVerbs
from roost.stores.verbs.leases import LeaseVerbs
from roost.stores.verbs.outbox import OutboxVerbs
from roost.stores.verbs.points import PointVerbs
from roost.stores.verbs.registry import RegistryVerbs
from roost.stores.verbs.retention import RetentionVerbs
from roost.stores.verbs.runs import RunVerbs
from roost.stores.verbs.sessions import SessionVerbs


class StoreVerbs(
    LeaseVerbs,
    FleetVerbs,
    SessionVerbs,
    InboxVerbs,
    RunVerbs,
    BudgetVerbs,
    OutboxVerbs,
    FactVerbs,
    RegistryVerbs,
    JobVerbs,
    PointVerbs,
    ImportVerbs,
    RetentionVerbs,
):
    """Every verb of the `Store` port but `check`, `repair` and `close`, which are a database's own."""
