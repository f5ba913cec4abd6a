"""What `make run` and the `roost` command start."""

import sys

from roost.cli import overview


def main() -> int:
    return overview.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
