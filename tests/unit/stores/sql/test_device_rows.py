from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from tests.unit.core.test_devices import paired, request


def test_devices_and_requests_lie_beside_each_other(tables: SqliteTables) -> None:
    (device,) = paired().paired
    drive(tables.put_registered("pending:e", request("e")))
    for one in (request(), device):
        drive(tables.put_registered("paired:d", one))
    assert drive(tables.registered()) == (device, request("e"))
    drive(tables.delete_registered("pending:e"))
    assert drive(tables.registered()) == (device,)
