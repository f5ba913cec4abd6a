from roost.core.keys import SessionKey
from roost.stores.memory.state import State
from roost.testing.clock import FakeClock

ONE, OTHER = SessionKey.named("main", "one"), SessionKey.named("main", "other")


def test_all_rows_go_back_together_to_the_last_commit() -> None:
    state = State(FakeClock())
    state._ended_feeds.put(ONE, 1)
    state._trees.put(ONE, ())
    state.commit()
    state._ended_feeds.put(ONE, 2)
    state._ended_feeds.put(OTHER, 3)
    state._trees.drop(ONE)
    state.rollback()
    assert list(state._ended_feeds) == [1]
    assert list(state._trees) == [()]
    state.rollback()
    assert list(state._ended_feeds) == [1]
