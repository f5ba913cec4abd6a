"""A test that does not end ends its process."""

from queue import SimpleQueue

import pytest
from pytest_timeout import Settings

from tests.watch import Watch


def limit(seconds: float) -> Settings:
    return Settings(seconds, "thread", False, False)


def test_it_is_ended_at_its_own_limit(request: pytest.FixtureRequest) -> None:
    ended: SimpleQueue[Settings] = SimpleQueue()
    watch = Watch(lambda _, settings: ended.put(settings), every_s=0.001)
    watch.pytest_timeout_set_timer(request.node, limit(3_600))
    watch.pytest_timeout_cancel_timer()
    watch.pytest_timeout_set_timer(request.node, limit(0.01))
    assert ended.get(timeout=60) == limit(0.01)
    watch.pytest_unconfigure()


def test_one_that_is_over_is_watched_no_more(request: pytest.FixtureRequest) -> None:
    ended: list[Settings] = []
    watch = Watch(lambda _, settings: ended.append(settings), every_s=3_600)
    watch.pytest_timeout_set_timer(request.node, limit(0))
    watch.pytest_timeout_cancel_timer()
    watch.look()
    assert not ended
    watch.pytest_timeout_set_timer(request.node, limit(0))
    watch.look()
    assert ended == [limit(0)]
    watch.pytest_unconfigure()


def test_every_test_is_watched(request: pytest.FixtureRequest) -> None:
    found = [one for one in request.config.pluginmanager.get_plugins() if isinstance(one, Watch)]
    assert [one._under_way and one._under_way[1] for one in found] == [request.node]
