"""Those who are connected and not yet in. There is room for so many; who says nothing makes room for who comes."""

from typing import Protocol

MOST = 4_096
MOST_OF_ONE = 1_024


class Waiting(Protocol):
    @property
    def address(self) -> str: ...

    @property
    def silent(self) -> bool:
        """Whether it has not yet asked to come in."""
        ...

    def send_away(self) -> None: ...


class WaitingRoom:
    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._waiting: dict[str, dict[Waiting, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def enter(self, one: Waiting) -> bool:
        """Whether there is room, which the one that has been silent longest makes."""
        same = self._waiting.get(one.address, {})
        if len(same) >= self._most_of_one and not self._make_room(same):
            return False
        if self._count >= self._most and not self._make_room(max(self._waiting.values(), key=len)):
            return False
        self._waiting.setdefault(one.address, {})[one] = None
        self._count += 1
        return True

    def leave(self, one: Waiting) -> None:
        same = self._waiting.get(one.address, {})
        if one in same:
            del same[one]
            self._count -= 1
            if not same:
                del self._waiting[one.address]

    def _make_room(self, among: dict[Waiting, None]) -> bool:
        longest = next((other for other in among if other.silent), None)
        if longest is None:
            return False
        self.leave(longest)
        longest.send_away()
        return True
