"""`roost completion`: the words a shell may offer."""

import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from roost.cli.main import application


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="For which shell.")] = "bash",
) -> int:
    """Print a script that makes a shell complete `roost` commands; see the help of your shell for where it goes."""
    sys.stdout.write(application().generate_completion(shell=shell))
    return 0
