"""`python -m bench`: print every figure, write `bench/reports/latest.json`, name what missed."""

import asyncio
import json
import tempfile
from pathlib import Path

from bench import reads, recall, startup, stores, tools, turns

REPORT = Path(__file__).parent / "reports" / "latest.json"


def main() -> None:
    figures = []
    for part in (
        stores.measure,
        reads.measure,
        recall.measure,
        tools.measure,
        startup.measure,
        turns.measure,
    ):
        with tempfile.TemporaryDirectory() as folder:
            for figure in asyncio.run(part(Path(folder))):
                print(figure.line(), flush=True)
                figures.append(figure)
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps([figure.as_json() for figure in figures], indent=2) + "\n")
    missed = [figure.name for figure in figures if not figure.met]
    print(f"{len(figures) - len(missed)} of {len(figures)} figures reached; report in {REPORT.name}")


if __name__ == "__main__":
    main()
