"""What `make run` and the `roost` command start."""

import sys

from roost.cli import main as command


def main() -> int:
    return command.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
