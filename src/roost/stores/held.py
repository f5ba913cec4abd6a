"""A session while a transaction holds it."""

from dataclasses import dataclass

from roost.core.sessions import Growth, Session, grown


@dataclass(slots=True)
class Held:
    """A session as its row is, as it shall be, the number of its newest event, and what new
    entries add to it."""

    row: Session
    session: Session
    events: int
    growth: Growth | None = None

    def settled(self) -> Session:
        """The session with what its new entries change."""
        if self.growth is not None:
            self.session = grown(
                self.session, self.growth, version=self.session.version, events=self.session.events
            )
            self.growth = None
        return self.session

    def changed(self) -> bool:
        return self.session is not self.row or self.growth is not None or self.events != self.row.events

    def written(self) -> Session:
        """The session as its row shall be, one version later."""
        version = self.row.version + 1
        if self.growth is not None:
            return grown(self.session, self.growth, version=version, events=self.events)
        return self.session._replace(version=version, events=self.events)
