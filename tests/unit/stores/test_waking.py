from roost.core.principals import OWNER
from roost.ports import Topic, TopicKind
from roost.stores.memory.tables import MemoryTables
from roost.stores.tables import drive
from roost.stores.waking import Waking
from roost.testing import builders
from roost.testing.clock import FakeClock


def test_what_leaves_its_place_is_news_for_who_does_the_work_only_if_more_waits() -> None:
    tables = MemoryTables(FakeClock())
    waking = Waking(tables)
    runs, deliveries = Topic(TopicKind.RUNS_DUE), Topic(TopicKind.DELIVERIES_DUE)
    drive(waking.run_left())
    drive(waking.delivery_left())
    assert not {runs, deliveries} & waking.topics
    drive(tables.insert_run(builders.run("r-1")))
    drive(waking.run_left())
    assert {runs, deliveries} & waking.topics == {runs}
    drive(tables.insert_delivery(builders.delivery("d-1"), OWNER))
    drive(waking.delivery_left())
    assert {runs, deliveries} & waking.topics == {runs, deliveries}
