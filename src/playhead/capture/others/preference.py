"""Decides whose record of a model call counts if several instrumentations of a library are on: `PLAYHEAD_PREFER`.

Ours counts by default.  If another family is preferred and its instrumentor of a library is on, ours does not record
that library's calls: they have only the other family's span, and cannot be resumed.
"""

from playhead.calls import runtime
from playhead.calls.runtime import UNCONFIGURED
from playhead.capture.others.known import INSTRUMENTORS, is_active
from playhead.model.instrumentations import FAMILIES, family_of

OURS = FAMILIES[0]


def is_left_to_others(library: str) -> bool:
    """Whether a preferred instrumentation of others records the calls of this library (given by its top module)."""
    if runtime.current is UNCONFIGURED:
        runtime.recorder()
    family = runtime.current.prefer
    if family == OURS:
        return False
    return any(map(is_active, INSTRUMENTORS.get(library, {}).get(family, ())))


def is_preferred_scope(scope: str) -> bool:
    """Whether spans of this instrumentation scope belong to the family that is preferred to ours."""
    family = runtime.current.prefer
    return family != OURS and family_of(scope) == family
