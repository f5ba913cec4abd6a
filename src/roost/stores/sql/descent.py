"""Which generations go on from which, read row by row."""

from dataclasses import dataclass, field
from typing import TypeAlias

from roost.stores.sql.rows import Binding

Fields: TypeAlias = dict[str, Binding]
"""A row, by the names of its columns."""


@dataclass(slots=True)
class Descent:
    """How generations go on from each other, each `named` as the next one calls it, and those in which something that was
    said is `heard_in`."""

    named: dict[Binding, Binding] = field(default_factory=dict)
    bases: dict[Binding, Binding] = field(default_factory=dict)
    heard_in: set[Binding] = field(default_factory=set)

    def note(self, row: Fields) -> None:
        self.named[row["session_id"]] = row["id"]
        self.bases[row["id"]] = row["base_session_id"]

    def hear(self, spoken: set[Binding]) -> None:
        """What was said in these is heard in what goes on from there, too."""
        heard: dict[Binding, bool] = {None: False, **dict.fromkeys(spoken, True)}
        for one in self.bases:
            way, place = list[Binding](), one
            while place not in heard:
                # Whoever comes by again goes in circles.
                heard[place] = False
                way.append(place)
                place = self.named.get(self.bases[place])
            if heard[place]:
                heard.update(dict.fromkeys(way, True))
        self.heard_in.update(one for one in self.bases if heard[one])
