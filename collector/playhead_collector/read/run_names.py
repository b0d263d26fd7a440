"""Finds the run that a name means: an id, a part of one, or `last`."""

import re

from playhead_collector.errors import Refused
from playhead_collector.store.ports import ReadStore, RunFilter

LAST = "last"
_ID = re.compile("[0-9a-f]{32}")
_PART = re.compile("[0-9a-f]{1,31}")
_MAX_NAMED = 5


async def run_named(store: ReadStore, project_id: int, name: str) -> str:
    """Returns the id of the run that `name` means: an id, a part of an id that no other run has, or `last` for the
    newest run.

    A complete id is returned without a check that there is such a run.  Raises Refused (404) if there is no run, or
    several.
    """
    wanted = name.strip().lower()
    if _ID.fullmatch(wanted):
        return wanted
    if wanted == LAST:
        newest = await store.runs(project_id, RunFilter(), limit=1)
        if not newest:
            raise Refused(404, "no_such_run", "no run has been recorded yet: run a program that uses playhead")
        return newest[0].run
    if not _PART.fullmatch(wanted):
        raise _unknown(name)
    rows = await store.runs(project_id, RunFilter(id_part=wanted), limit=_MAX_NAMED + 1)
    if not rows:
        raise _unknown(name)
    if len(rows) > 1:
        ids = ", ".join(row.run for row in rows[:_MAX_NAMED])
        more = " and more" if len(rows) > _MAX_NAMED else ""
        message = f"several runs have {wanted!r} in their id ({ids}{more}): write more of the one that you mean"
        raise Refused(404, "ambiguous_run", message)
    return rows[0].run


def _unknown(name: str) -> Refused:
    message = f"there is no run {name[:40]!r}: name one by its id, a part of it, or `last`; `playhead runs` lists them"
    return Refused(404, "no_such_run", message)
