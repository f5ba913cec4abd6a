"""A line to the server that can be cut at the worst moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlsplit

SOCKET = ".s.PGSQL.5432"


class Cut(StrEnum):
    """Before the server hears of the end, or after it, when nobody hears its answer."""

    BEFORE = "before"
    AFTER = "after"


class Line:
    """Passes everything on until it is told to be cut, or held, at the next COMMIT."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._cut: Cut | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._hold = False
        self._let_in = asyncio.Event()
        self._let_in.set()
        self.held = asyncio.Event()
        self.cuts = 0
        self.asked = 0
        self.dead_after_cut = False

    def cut_at_commit(self, cut: Cut) -> None:
        self._cut = cut

    def hold_at_commit(self) -> None:
        """The server does not hear of it, and until all is let through nobody else comes to it."""
        self._hold = True

    def let_through(self) -> None:
        self._let_in.set()

    def hang_up(self) -> None:
        """Everybody, at once."""
        for writer in self._open:
            writer.transport.abort()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.dead_after_cut and self.cuts:
            writer.transport.abort()
            return
        await self._let_in.wait()
        server_reader, server_writer = await asyncio.open_unix_connection(self._socket)
        self._open |= {writer, server_writer}
        try:
            async with asyncio.TaskGroup() as group:
                back = group.create_task(self._answer(server_reader, writer))
                with suppress(ConnectionError):
                    await self._ask(reader, server_writer, back)
                back.cancel()
        finally:
            for end in (writer, server_writer):
                end.transport.abort()
                self._open.discard(end)

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, back: "asyncio.Task[None]"
    ) -> None:
        while data := await reader.read(65_536):
            self.asked += 1
            if self._hold and b"COMMIT\0" in data:
                self._hold = False
                self._let_in.clear()
                self.held.set()
                await self._let_in.wait()
            if self._cut is not None and b"COMMIT\0" in data:
                cut, self._cut = self._cut, None
                self.cuts += 1
                if cut is Cut.AFTER:
                    back.cancel()
                    await asyncio.sleep(0)
                    writer.write(data)
                    await writer.drain()
                return
            writer.write(data)
            await writer.drain()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.transport.abort()


@asynccontextmanager
async def line_to(address: str) -> AsyncIterator[tuple[str, Line]]:
    """The server's address by way of a line."""
    (folder,) = parse_qs(urlsplit(address).query)["host"]
    line = Line(Path(folder) / SOCKET)
    with TemporaryDirectory() as ours:
        listener = await asyncio.start_unix_server(line.connect, Path(ours) / SOCKET)
        try:
            yield address.replace(folder, ours), line
        finally:
            listener.close()
            line.hang_up()
            await asyncio.sleep(0.01)
