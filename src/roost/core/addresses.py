"""Where a message came from and where its answer goes."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

DEFAULT_ACCOUNT = "default"


class ChatType(StrEnum):
    DIRECT = "direct"
    GROUP = "group"
    CHANNEL = "channel"

    @classmethod
    def parse(cls, text: str) -> "ChatType | None":
        """The chat type named by a word; `dm` is an old name of `direct`."""
        word = text.strip().lower()
        if word == "dm":
            return cls.DIRECT
        return cls(word) if word in cls._value2member_map_ else None


class Account(NamedTuple):
    """One account on a channel: what a channel adapter serves."""

    channel: str
    account: str = DEFAULT_ACCOUNT

    def __str__(self) -> str:
        return self.channel if self.account == DEFAULT_ACCOUNT else f"{self.channel}/{self.account}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One place on one channel that can receive a message. `person` is the id of who writes there, of a direct chat that
    has an id of its own, and `chat_type` what kind of chat it is, where that is known; the place is the same without."""

    channel: str
    to: str
    account: str = DEFAULT_ACCOUNT
    thread: str | None = None
    person: str | None = field(default=None, compare=False)
    chat_type: ChatType | None = field(default=None, compare=False)

    @property
    def served_by(self) -> Account:
        return Account(self.channel, self.account)

    @property
    def whose(self) -> str:
        """The id of who is met there, if it is a direct chat."""
        return self.person or self.to


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a conversation was first met, for people to read; never used to route."""

    label: str | None = None
    provider: str | None = None
    surface: str | None = None
    chat_type: ChatType | None = None
    sender: str | None = None
    to: str | None = None
    account: str | None = None
    thread: str | None = None
