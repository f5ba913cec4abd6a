"""One measured figure, and how it is shown."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`ratio` is ours to the floor's; the target says which side of it is good."""

    name: str
    ours: float
    floor: float
    unit: str
    target: str
    met: bool

    @property
    def ratio(self) -> float:
        return self.ours / self.floor if self.floor else float("inf")

    def line(self) -> str:
        mark = "ok  " if self.met else "MISS"
        return (
            f"{mark} {self.name:<46} {self.ours:>12,.1f} {self.unit:<7} floor {self.floor:>12,.1f}"
            f"   ratio {self.ratio:6.2f}   target {self.target}"
        )

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "ratio": round(self.ratio, 4)}


def at_least(name: str, ours: float, floor: float, unit: str, ratio: float) -> Figure:
    met = ours >= ratio * floor
    return Figure(name=name, ours=ours, floor=floor, unit=unit, target=f">= {ratio} x", met=met)


def at_most(name: str, ours: float, floor: float, unit: str, ratio: float) -> Figure:
    met = ours <= ratio * floor
    return Figure(name=name, ours=ours, floor=floor, unit=unit, target=f"<= {ratio} x", met=met)


def within(name: str, ours: float, limit: float, unit: str) -> Figure:
    """A figure with a limit of its own instead of a floor."""
    return Figure(name=name, ours=ours, floor=limit, unit=unit, target="<= 1 x limit", met=ours <= limit)


def reaches(name: str, ours: float, limit: float, unit: str) -> Figure:
    """A rate with a limit of its own instead of a floor."""
    return Figure(name=name, ours=ours, floor=limit, unit=unit, target=">= 1 x limit", met=ours >= limit)
