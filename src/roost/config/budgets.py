"""`budgets`: how much may be spent on models, and by whom."""

from collections.abc import Iterable
from typing import Annotated, TypeAlias

from roost.config.amounts import Dollars
from roost.config.section import Loc, Section, about
from roost.config.spelling import Count, Spelling
from roost.core.budgets import Period

Amount: TypeAlias = Annotated[
    Dollars, Spelling(Dollars.parse, "amount of dollars, with at most 6 decimals", str)
]


class TokenLimit(Section):
    soft: Annotated[Count | None, about("Tokens at which a word is said once a day. Unset: never.")] = None
    hard: Annotated[Count | None, about("Tokens that are never passed. Unset: no limit.")] = None

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.soft is not None and self.hard is not None and self.soft > self.hard:
            yield ("soft",), f"it is above hard ({self.hard})"


class CostLimit(Section):
    soft: Annotated[Amount | None, about("Dollars at which a word is said once a day. Unset: never.")] = None
    hard: Annotated[
        Amount | None,
        about("Dollars that are never passed; a model without known prices waits as well. Unset: no limit."),
    ] = None

    def conflicts(self) -> Iterable[tuple[Loc, str]]:
        if self.soft is not None and self.hard is not None and self.soft > self.hard:
            yield ("soft",), f"it is above hard ({self.hard})"


class DayBudget(Section):
    tokens: Annotated[TokenLimit, about("Limits in tokens.")] = TokenLimit()
    cost: Annotated[CostLimit, about("Limits in dollars.")] = CostLimit()


class Budget(DayBudget):
    period: Annotated[Period, about("What a limit holds for: each `day`, or all time.")] = Period.DAY


class Budgets(Section):
    per_day: Annotated[DayBudget, about("What everyone may spend together in a day.")] = DayBudget()
    per_session: Annotated[Budget, about("What one session may spend.")] = Budget()
    per_tree: Annotated[Budget, about("What a session and all its descendants may spend together.")] = (
        Budget()
    )
    per_agent: Annotated[Budget, about("What the sessions of one agent may spend together.")] = Budget()
    per_person: Annotated[Budget, about("What may be spent on the word of one person.")] = Budget()
