"""What the sender of a request may do, and for which project: found out from its key before anything else is done."""

from dataclasses import dataclass
from typing import Final, Protocol

FIRST_PROJECT: Final = 1
"""The project that is there from the start; what was stored before there were others is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The project that a request is about, and the name of its key (None: it has none, or it is the operator's).

    `is_operator`: it came with PLAYHEAD_ADMIN_KEY, so it may name any project, and change projects.
    """

    project_id: int = FIRST_PROJECT
    key_name: str | None = None
    is_operator: bool = False


ANYBODY: Final = Access()
"""What everybody may do while there are no keys."""


class _WithState(Protocol):
    @property
    def state(self) -> object: ...


def access_of(request: _WithState) -> Access:
    """What the sender of this request may do. Without a check of keys before the routes: what everybody may."""
    return getattr(request.state, "access", ANYBODY)
