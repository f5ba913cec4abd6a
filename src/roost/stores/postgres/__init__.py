"""The store on a PostgreSQL server, for several gateways that all serve."""

from roost.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
