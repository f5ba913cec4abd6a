"""What `make run` and the `roost` command start."""

import gc
import sys

from roost.cli import main as command

SELDOM = 100_000


def main() -> int:
    # Loading makes much that stays and little that goes: the collector would look through it again and again.
    gc.set_threshold(SELDOM)
    return command.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
