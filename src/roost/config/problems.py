"""What is wrong with a configuration, said so that it can be mended: where, what was found, what is allowed."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roost.config.section import Loc
from roost.core.errors import ConfigInvalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """`path` is the place in the file; parts that do not apply are empty."""

    path: str
    reason: str
    allowed: str = ""
    nearest: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"

    @property
    def message(self) -> str:
        words = [self.reason]
        words += [f"did you mean `{self.nearest}`?"] if self.nearest else []
        words += [f"allowed: {self.allowed}"] if self.allowed else []
        return "; ".join(words)


class ConfigRefused(ConfigInvalid):
    """A configuration with every problem found in it; none of it was applied."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"{source} was refused, {count}:{lines}", hint="correct it and load it again")
        self.problems = tuple(problems)


def path_text(loc: Loc) -> str:
    """`agents.list[0].id`; a name that would read as structure is quoted."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("-", "").replace("_", "").replace("/", "").isalnum():
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that looks most like `name`, or nothing."""
    folded = {option.lower(): option for option in known}
    close = difflib.get_close_matches(name.lower(), folded, n=1)
    return folded[close[0]] if close else ""
