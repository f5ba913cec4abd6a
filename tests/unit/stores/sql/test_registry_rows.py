from roost.core import guests
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from tests.unit.core.test_devices import paired, request
from tests.unit.core.test_guests import asked, knocking


def test_devices_people_and_requests_lie_beside_each_other(tables: SqliteTables) -> None:
    (device,) = paired().paired
    _, ann = guests.admit(asked(knocking()), "CODE7", 1)
    drive(tables.put_registered("guest:7", ann))
    drive(tables.put_registered("knock:8", knocking("8")))
    drive(tables.put_registered("pending:e", request("e")))
    for one in (request(), device):
        drive(tables.put_registered("paired:d", one))
    assert drive(tables.registered()) == (ann, knocking("8"), device, request("e"))
    drive(tables.delete_registered("pending:e"))
    assert drive(tables.registered()) == (ann, knocking("8"), device)
