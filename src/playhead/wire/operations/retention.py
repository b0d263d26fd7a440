"""Retention: how long runs of a project are kept and in which form, pins, and what was removed."""

from typing import Annotated, Any, Literal, TypedDict

from playhead.wire.operations.bounds import NO_NUL, Bounds, Most, RunName
from playhead.wire.operations.operation import ADMIN, READ, delete, get, get_list, post, put
from playhead.wire.operations.page import Page

# --- answers ---------------------------------------------------------------------------------------------------------

TierName = Literal["hot", "warm", "cold", "archive", "deleted"]
"""What is kept of a run.

`hot`: everything.  `warm`: everything, contents in the object store.  `cold`: its events, and its contents as the
policy says.  `archive`: kinds, times and usage of its events.  `deleted`: nothing.
"""


class UpcomingMove(TypedDict):
    """Runs that go into a tier within the next `days`, by the rules as they are now, and those that are due already."""

    days: int
    tier: TierName
    runs: int


class ProjectRetention(TypedDict):
    """The policy of a project, and what it means.

    `policy` is null if there is none: then runs are kept for ever. `tiers`: how many runs are in each. `upcoming`: what
    goes when; `looked_at` runs were looked at for it, `all_looked_at` says whether those were all. `object_store`:
    whether warm runs go anywhere; without one they stay where they are.
    """

    policy: dict[str, Any] | None
    object_store: bool
    tiers: dict[TierName, int]
    upcoming: list[UpcomingMove]
    looked_at: int
    all_looked_at: bool


class PlannedMove(TypedDict):
    """A run that would go into another tier now.

    `why`: the rule and the age. `kept`: why it does not go although its age is reached; null: it goes. `bytes`: of the
    rows of its record (compressed).
    """

    run: str
    tier: TierName
    to: TierName
    rule: str
    why: str
    kept: str | None
    bytes: int


class RetentionPlan(TypedDict):
    """What would be done now: the first of the runs, and how many there are with all their `bytes`. `kept`: how many
    are due and stay. `all_looked_at`: whether all runs were looked at in the time that a request has."""

    items: list[PlannedMove]
    runs: int
    kept: int
    bytes: int
    looked_at: int
    all_looked_at: bool


class Thinned(TypedDict):
    """What a request did: how many runs went into each tier.  `complete`: nothing is left that is due."""

    runs: dict[TierName, int]
    bytes: int
    complete: bool


class RunRemoval(TypedDict):
    """A step of the audit: runs that went from one tier to another by a rule.

    `contents`: contents and threads that these runs do not name any more. `bytes`: of their rows that went.
    """

    time: str
    rule: str
    tier: TierName
    to: TierName
    runs: list[str]
    contents: int
    bytes: int


class Pin(TypedDict):
    """A run that no rule thins or deletes.  `key`: the name of the API key that pinned it."""

    run: str
    reason: str | None
    key: str | None
    time: str


class Unpinned(TypedDict):
    """`unpinned`: whether the run was pinned."""

    unpinned: bool


# --- operations ------------------------------------------------------------------------------------------------------

PolicyValue = Annotated[
    Any,
    Bounds(
        description='Null: runs are kept for ever. Else `{"default": {...}, "rules": [{"name", "agent", "tag", '
        '"outcome", ...}]}`, each with `hot`, `warm`, `cold`, `archive` (a duration such as `7d`, or `forever`), '
        "`contents`, `last_context`, `keep`."
    ),
]
PinReason = Annotated[str | None, Bounds(max_length=1_000, pattern=NO_NUL, description="Why it is kept.")]


class RetentionOperations:
    """Policies, pins, and what was removed."""

    @get("/project/retention", scope=READ, tag="retention")
    def retention(self) -> ProjectRetention:
        """The retention policy of the project, how many runs are in each tier, and what goes when."""
        ...

    @put("/project/retention", scope=ADMIN, tag="retention")
    def set_retention(self, policy: PolicyValue = None) -> ProjectRetention:
        """Set the policy; without one, runs are kept for ever.

        It is applied within a day: see `GET /retention/plan` before.
        """
        ...

    @get("/retention/plan", scope=READ, tag="retention")
    def retention_plan(self, *, limit: Most = None) -> RetentionPlan:
        """What the policy would do now, run by run with the reason. Changes nothing."""
        ...

    @post("/retention", scope=ADMIN, tag="retention")
    def retain(self) -> Thinned:
        """Do now what the policy says. One request works for a few seconds at most: repeat it until `complete`.

        The collector also does this by itself, once a day.
        """
        ...

    @get_list("/retention/log", scope=READ, tag="retention", page_size=100)
    def removals(self, *, limit: Most = None) -> Page[RunRemoval]:
        """What was thinned and deleted by rules, latest first."""
        ...

    @put("/runs/{run}/pin", scope=ADMIN, tag="retention")
    def pin_run(self, run: RunName, reason: PinReason = None) -> Pin:
        """Pin a run: no rule thins or deletes it. Pinned again, it gets the new reason."""
        ...

    @delete("/runs/{run}/pin", scope=ADMIN, tag="retention")
    def unpin_run(self, run: RunName) -> Unpinned:
        """Take the pin away: the rules are about the run again."""
        ...
