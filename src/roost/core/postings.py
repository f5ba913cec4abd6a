"""The end of a run that a job was due for: it is written down, and what was said is posted where it is meant to be read."""

from roost.core.effects import AppendEntries, Effects
from roost.core.endings import Ending
from roost.core.entries import EntryDraft
from roost.core.firings import PutFiring, ended
from roost.core.messages import Provenance, ProvenanceKind, Text, UserMessage
from roost.core.notices import derived_id
from roost.core.snapshots import RunSnapshot


def fired(snapshot: RunSnapshot, ending: Ending) -> Effects:
    """Nothing of a run that goes on, or that no job is behind."""
    if ending.outcome.yielded:
        return ()
    firing = snapshot.firing
    settled: Effects = ()
    if firing is not None:
        settled = (PutFiring(firing=ended(firing, ending.outcome, ending.said)),)
    return (*settled, *_posted(snapshot, ending))


def _posted(snapshot: RunSnapshot, ending: Ending) -> Effects:
    """An entry in the session of the people it is for. It starts no run, and is no word of theirs."""
    audience, run = snapshot.audience, snapshot.run
    if audience is None or audience.session is None or ending.said is None:
        return ()
    provenance = Provenance(
        kind=ProvenanceKind.SCHEDULE, principal=run.cause.principal, source_session=str(run.key)
    )
    body = UserMessage(content=(Text(ending.said),), at=ending.outcome.at, provenance=provenance)
    posted = EntryDraft(id=derived_id(run.id, "posted"), body=body)
    return (AppendEntries(key=audience.key, drafts=(posted,)),)
