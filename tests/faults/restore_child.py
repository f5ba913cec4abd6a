"""The process that is killed: restores a backup, and ends at one of its steps.

python -m tests.faults.restore_child <backup> <database> <number of the step>
"""

import os
import sys
from itertools import count
from pathlib import Path

from roost.stores.sqlite.restoring import restore

STEPS = ("os.rename", "os.link", "os.remove")
KILLED = 9


def main(backup: str, database: str, last: str) -> None:
    steps = count(1)

    def heard(event: str, arguments: object) -> None:
        if event in STEPS and next(steps) == int(last):
            os._exit(KILLED)

    sys.addaudithook(heard)
    path = Path(database)
    restore(Path(backup), path, lambda: path.with_name("kept.db"))


if __name__ == "__main__":
    main(*sys.argv[1:])
