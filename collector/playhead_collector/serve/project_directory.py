"""The projects with their limits, cached for seconds, so that a request needs no query."""

import time
from collections.abc import Callable, Mapping

from playhead_collector.access import FIRST_PROJECT
from playhead_collector.errors import KeyDestroyed, Refused
from playhead_collector.serve.keyring import KeyHolder
from playhead_collector.serve.table_cache import TableCache
from playhead_collector.store.ports.projects import ProjectRow, ProjectStore

COOKIE = "playhead_project"
"""The cookie with which the operator's browser names a project: downloads and streams cannot send headers."""


class ProjectDirectory:
    """The projects that are in use. `clock`: seconds, monotonic."""

    def __init__(self, stored: ProjectStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._stored = stored
        self._projects = TableCache(self._read, clock)

    async def all(self) -> Mapping[int, ProjectRow]:
        """Returns the projects by their numbers.  Raises StoreUnavailable if they could not be read since the last
        change."""
        return await self._projects.rows()

    async def check_readable(self, project_id: int) -> None:
        """Raises KeyDestroyed if nobody can read the project any more."""
        if project_id == FIRST_PROJECT:  # it was there before any could be encrypted
            return
        project = (await self.all()).get(project_id)
        if project is not None and project.key_destroyed:
            raise KeyDestroyed

    async def named(self, name: str) -> ProjectRow:
        """Returns a project.  Raises Refused (404), StoreUnavailable."""
        for project in (await self.all()).values():
            if project.name == name:
                return project
        raise Refused(
            404, "no_such_project", f"there is no project {name[:100]!r}: `playhead projects list` shows them"
        )

    async def chosen(self, holder: KeyHolder | None, name: str | None) -> int:
        """Returns the project that a request is about: that of its key. If it names one, it must be the same.

        `holder` None: there are no keys, and everybody has the first project. Raises Refused: 403 for another project
        than the key's, 404 when the operator names one that is not there; StoreUnavailable.
        """
        if holder is not None and holder.is_operator:
            return FIRST_PROJECT if name is None else (await self.named(name)).number
        own = FIRST_PROJECT if holder is None or holder.project_id is None else holder.project_id
        if name is not None:
            project = (await self.all()).get(own)
            if project is None or project.name != name:
                # The same answer whether there is such a project or not.
                raise Refused(
                    403,
                    "wrong_project",
                    f"the key is not of project {name[:100]!r}: leave its name out, or send its key",
                )
        return own

    def forget(self) -> None:
        """Drops the cache: the next request reads the table."""
        self._projects.forget()

    async def _read(self) -> Mapping[int, ProjectRow]:
        projects = {project.number: project for project in await self._stored.all()}
        self._stored.forget_keys([number for number, row in projects.items() if not row.key_destroyed])
        return projects
