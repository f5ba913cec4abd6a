"""The cuts of a projection as lines of the transcript, so that what a model was shown outlives a restart.

A line holds what changed since the one before it. Lines older than the newest boundary no longer count. What is
read may have been imported: a line that is not understood cuts nothing.
"""

from collections.abc import Mapping, Sequence

from roost.core.entries import Entry
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.messages import Body, Notice
from roost.core.pruning import Cut, Projection
from roost.core.transcript import active

STATE_KIND = "custom"
PRUNING = "pruning"


def cut_note(before: Projection, after: Projection, at: int) -> Notice | None:
    """The line that leads from one projection to the next; None where nothing changed."""
    known = {cut.entry_id: cut for cut in before.cuts}
    changed = [_to_json(cut) for cut in after.cuts if known.get(cut.entry_id) != cut]
    if not changed:
        return None
    return Notice(kind=STATE_KIND, at=at, data={"customType": PRUNING, "cuts": changed})


def is_cut_note(body: Body) -> bool:
    return isinstance(body, Notice) and body.kind == STATE_KIND and body.data.get("customType") == PRUNING


def projection_of(entries: Sequence[Entry]) -> Projection:
    """The projection in force; a later cut of the same entry takes the place of an earlier one."""
    cuts: dict[str, Cut] = {}
    for entry in entries[active(entries).after :]:
        if isinstance(entry.body, Notice) and is_cut_note(entry.body):
            cuts.update({cut.entry_id: cut for cut in _cuts(entry.body.data.get("cuts"))})
    return Projection(cuts=tuple(cuts.values()))


def _to_json(cut: Cut) -> JsonObject:
    return {"entryId": cut.entry_id, "note": cut.note, "head": cut.head, "tail": cut.tail, "text": cut.text}


def _cuts(found: JsonValue) -> list[Cut]:
    items = found if isinstance(found, list | tuple) else ()
    cuts = (_from_json(item) for item in items if isinstance(item, Mapping))
    return [cut for cut in cuts if cut is not None]


def _from_json(item: JsonObject) -> Cut | None:
    entry_id, note, head, tail = item.get("entryId"), item.get("note"), item.get("head"), item.get("tail")
    if not (isinstance(entry_id, str) and isinstance(note, str)):
        return None
    if not (isinstance(head, int) and isinstance(tail, int) and head >= 0 and tail >= 0):
        return None
    return Cut(entry_id=entry_id, note=note, head=head, tail=tail, text=item.get("text") is True)
