"""The files of a workspace that its agent is always shown, read as the file tools read: no link leads out of it."""

from collections.abc import Iterable

from roost.core.errors import NotFound, RoostError
from roost.core.tools import Place, WorkspaceAccess
from roost.core.workspacefiles import FileCaps, FoundFile, WorkspaceFile, shown_files
from roost.tools.workspace import Workspace


def workspace_files(place: Place, names: Iterable[str], caps: FileCaps) -> tuple[WorkspaceFile, ...]:
    """These files within their caps; none where the session may not see the workspace."""
    if place.access is WorkspaceAccess.NONE:
        return ()
    workspace = Workspace(place)
    return shown_files(
        [_found(workspace, name) if workspace.may_hold(name) else FoundFile(name=name) for name in names],
        caps,
    )


def _found(workspace: Workspace, name: str) -> FoundFile:
    try:
        return FoundFile(name=name, text=workspace.read(name).decode("utf-8", "replace"))
    except NotFound:
        return FoundFile(name=name)
    except RoostError as error:
        return FoundFile(name=name, problem=str(error))
