"""What `make run` and the `roost` command start."""

import sys

from roost.cli.overview import main

if __name__ == "__main__":
    sys.exit(main())
