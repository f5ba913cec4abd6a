"""Where the programs that agents start are run."""
