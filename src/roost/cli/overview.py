"""`roost` by itself: what is configured, and how to go on."""

from roost import __version__
from roost.cli.here import LOCAL, Local
from roost.cli.show import as_json, facts, say


def overview(*, here: Local = LOCAL) -> int:
    """What is configured, and how to go on."""
    loaded = here.loaded()
    sources = loaded.sources
    if here.json:
        as_json({"version": __version__, "home": str(sources.home), "config": str(sources.file)})
        return 0
    say(f"Roost {__version__}")
    facts(
        [
            ("configuration", f"{sources.file}{'' if sources.exists else ' (not there: defaults)'}"),
            ("state", sources.home),
            *(("warning", str(warning)) for warning in loaded.warnings),
        ]
    )
    if not sources.exists:
        say("`roost onboard` sets up a model and who you are; until then a demo answers.")
    say("`roost gateway run` serves clients, `roost chat` talks here; see `roost --help`.")
    return 0
