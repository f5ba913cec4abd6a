"""`agents.*.sandbox`: which sessions run their tools confined, what is inside, and how much of the machine they may use."""

from enum import StrEnum
from typing import Annotated

from roost.config.amounts import ByteSize
from roost.config.section import Section, about
from roost.config.spelling import Count, Flag, Size
from roost.core.tools import WorkspaceAccess


class SandboxMode(StrEnum):
    OFF = "off"
    NON_MAIN = "non-main"
    ALL = "all"


class SandboxScope(StrEnum):
    SESSION = "session"
    AGENT = "agent"
    SHARED = "shared"


class SandboxVisibility(StrEnum):
    SPAWNED = "spawned"
    ALL = "all"


class Sandbox(Section):
    mode: Annotated[SandboxMode, about("Which sessions run tools in a sandbox.")] = SandboxMode.OFF
    scope: Annotated[SandboxScope, about("What shares one sandbox.")] = SandboxScope.SESSION
    workspace_access: Annotated[WorkspaceAccess, about("The workspace inside a sandbox.")] = (
        WorkspaceAccess.NONE
    )
    session_tools_visibility: Annotated[
        SandboxVisibility,
        about("`spawned` keeps a sandboxed session's tools to its own tree whatever `tools.sessions` says."),
    ] = SandboxVisibility.SPAWNED
    network: Annotated[Flag, about("Whether programs inside reach the network, the host's own included.")] = (
        False
    )
    max_processes: Annotated[
        Count, about("Processes and threads of one command; one with more is stopped. 0: no limit.")
    ] = 256
    max_memory: Annotated[
        Size, about("Memory of one command, and of each folder it has in memory. 0: no limit.")
    ] = ByteSize.parse("2gb")
    max_open_files: Annotated[Count, about("Files that a process holds open. 0: no limit.")] = 1_024
    max_file_size: Annotated[Size, about("Size of a file that is written. 0: no limit.")] = ByteSize.parse(
        "1gb"
    )
    max_cpu_seconds: Annotated[Count, about("Processor time of a process. 0: no limit.")] = 1_800
    keep_disk_free: Annotated[
        Size,
        about("Space on the workspace's disk below which a command that may write is stopped. 0: no limit."),
    ] = ByteSize.parse("512mb")
