"""`roost gateway`: run one, or ask the one that runs."""

from cyclopts import App

app = App(name="gateway", help="The gateway that clients connect to.")

# Only who serves loads what serves, and only who asks what asks.
app.command("roost.cli.serve:run", name="run", help="Serve until interrupted.")
app.command("roost.cli.asking:status", name="status", help="How the gateway that runs does.")
app.command(
    "roost.cli.asking:health", name="health", help="Whether the gateway that runs is well; 1 if it is not."
)
app.command(
    "roost.cli.asking:drain",
    name="drain",
    help="Have the gateway that runs leave: it takes up nothing more, lets what is under way end, and ends.",
)
app.command(
    "roost.cli.asking:call",
    name="call",
    help="Ask the gateway that runs for anything it can; the answer is JSON.",
)
