"""Access control with keys and projects in memory."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from playhead_collector.serve.access_control import AccessControl
from playhead_collector.serve.keyring import Keyring
from playhead_collector.serve.project_directory import ProjectDirectory
from playhead_collector.serve.quotas import Quotas
from playhead_collector.store.ports.projects import Arrived, ProjectRow

FIRST = ProjectRow(1, "default", 0)


class ProjectsInMemory:
    """The projects that a test has."""

    def __init__(self, *rows: ProjectRow) -> None:
        self.rows = list(rows) or [FIRST]
        self.arrived: dict[int, Arrived] = {}

    async def all(self) -> Sequence[ProjectRow]:
        return self.rows

    def forget_keys(self, readable: Collection[int]) -> None:
        """None of them is encrypted."""

    async def add_arrived(self, arrived: Mapping[int, Arrived]) -> Mapping[int, Arrived]:
        for number, new in arrived.items():
            self.arrived[number] = self.arrived.get(number, Arrived()) + new
        return self.arrived


def access_control_of(keyring: Keyring, *rows: ProjectRow) -> AccessControl:
    """Returns who may do what by these keys, with these projects (by default, the first one)."""
    stored = cast(Any, ProjectsInMemory(*rows))
    directory = ProjectDirectory(stored)
    return AccessControl(keyring, directory, Quotas(directory, stored, cast(Any, None)))
