"""What an import brings with it."""

import subprocess
import sys


def imported(*modules: str) -> frozenset[str]:
    """The modules that a fresh interpreter has after importing these."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return frozenset(ran.stdout.split())
