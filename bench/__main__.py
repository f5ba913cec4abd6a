"""`python -m bench [part …]`: print every figure, write `bench/reports/latest.json`, name what missed."""

import argparse
import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio

from bench import cli, delegation, postgres, reads, recall, startup, stores, tools, turns, wire
from bench.figures import Figure
from roost.cli.serve import look_after_garbage

REPORT = Path(__file__).parent / "reports" / "latest.json"
PARTS: Mapping[str, Callable[[Path], Awaitable[list[Figure]]]] = {
    "stores": stores.measure,
    "postgres": postgres.measure,
    "reads": reads.measure,
    "recall": recall.measure,
    "tools": tools.measure,
    "startup": startup.measure,
    "cli": cli.measure,
    "turns": turns.measure,
    "delegation": delegation.measure,
    "wire": wire.measure,
}


async def measured(name: str) -> list[Figure]:
    """On the loop that a gateway runs on, begun as it begins it."""
    look_after_garbage()
    with tempfile.TemporaryDirectory() as folder:
        return await PARTS[name](Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--report", type=Path, default=REPORT)
    asked = parser.parse_args()
    if unknown := set(asked.parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    figures: dict[str, list[Figure]] = {}
    for name in asked.parts or PARTS:
        figures[name] = anyio.run(measured, name, backend_options={"use_uvloop": True})
        for figure in figures[name]:
            print(figure.line(), flush=True)
    asked.report.parent.mkdir(exist_ok=True)
    rows = [{"part": name, **figure.as_json()} for name, found in figures.items() for figure in found]
    asked.report.write_text(json.dumps(rows, indent=2) + "\n")
    met = [figure.met for found in figures.values() for figure in found]
    print(f"{sum(met)} of {len(met)} figures reached; report in {asked.report.name}")


if __name__ == "__main__":
    main()
