"""A Postgres of our own for the engines that want one: a database for each run."""

import asyncio
import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import asyncpg

from playhead_collector import embedded


class Postgres:
    """Runs inside the `with` block."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._dsn = ""

    def __enter__(self) -> Self:
        # Not a folder inside one of the user's: as root, Postgres runs as somebody else.
        folder = Path(tempfile.mkdtemp(prefix="playhead-bench-"))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        self._dsn = self._stack.enter_context(embedded.start(folder)).dsn
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def database(self, name: str) -> Generator[str]:
        """The URL of an empty database."""
        asyncio.run(self._execute(f"create database {name}"))
        yield self._dsn.replace("/postgres?", f"/{name}?", 1)
        asyncio.run(self._execute(f"drop database {name} with (force)"))

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self._dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()
