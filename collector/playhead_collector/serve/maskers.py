"""The redaction rules of projects, ready to be run: made once for each version of a project's rules."""

import asyncio
import importlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

from playhead_collector.errors import BadSetting
from playhead_collector.redaction.masking import Masker, MaskingHook, masked_values
from playhead_collector.serve.project_directory import ProjectDirectory

T = TypeVar("T")


@dataclass(slots=True)
class Maskers:
    """Gives what masks the data of a project. Rules that were changed at another collector count here within seconds,
    as all of `ProjectDirectory`.

    `counts`: what was masked since the start, of all projects; see `Masker`.
    """

    projects: ProjectDirectory
    hook: MaskingHook | None = None
    counts: Counter[str] = field(default_factory=Counter[str])
    _made: dict[int, Masker] = field(default_factory=dict[int, Masker])

    async def of(self, project_id: int) -> Masker | None:
        """Returns what masks the data of a project; None: nothing does. Raises StoreUnavailable."""
        project = (await self.projects.all()).get(project_id)
        if project is None or project.redaction is None:
            self._made.pop(project_id, None)
            return None
        made = self._made.get(project_id)
        if made is None or made.rules != project.redaction:
            made = Masker(project.redaction, project.name, self.hook, self.counts)
            self._made[project_id] = made
        return made

    async def masked(self, project_id: int, values: Sequence[T]) -> list[T]:
        """Returns texts or JSON values as they may be stored; a text stays a text. Raises StoreUnavailable."""
        masker = await self.of(project_id)
        return [*values] if masker is None else await asyncio.to_thread(masked_values, masker, values)


async def run_masked(masker: Masker | None, work: Callable[[Masker], T], otherwise: T) -> T:
    """Runs what masks in a thread, since nobody knows how long texts take; returns `otherwise` if there is nothing to
    mask."""
    return otherwise if masker is None else await asyncio.to_thread(partial(work, masker))


def load_hook(name: str | None) -> MaskingHook | None:
    """Returns the function `module:function` that an operator has named; None: there is none. Raises BadSetting."""
    if name is None:
        return None
    module, _, function = name.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module), function)
    except Exception as error:
        raise BadSetting(
            f"PLAYHEAD_REDACTION_HOOK={name} cannot be loaded ({error!r}): name an importable function"
        ) from error
    if not callable(found):
        raise BadSetting(f"PLAYHEAD_REDACTION_HOOK={name} is no function: name one as module:function")
    return cast(MaskingHook, found)
