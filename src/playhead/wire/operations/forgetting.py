"""Erasure: of a run, and of all that a session, a user or a scope has."""

import uuid
from typing import Annotated, Literal, TypedDict

from playhead.wire.operations.bounds import NO_NUL, RUN_ID, Bounds
from playhead.wire.operations.operation import ADMIN, get, post

# --- answers ---------------------------------------------------------------------------------------------------------


class RefOfOthers(TypedDict):
    """A content or a thread node that stays, and up to five of the runs that name it."""

    ref: str
    runs: list[str]


class ForgetPreview(TypedDict):
    """What a request to forget would do.

    `runs` has up to 1,000 ids, of `run_count`. `forks` were forked from these runs and are not among them; they share
    their records. Of a user, these are the runs that say so at their beginning; a request also finds those of which a
    later span does. `contents`: contents and thread nodes that the runs name, those of others included; null if there
    are many runs. `forwarded`: how many of the runs each destination gets.
    """

    runs: list[str]
    run_count: int
    forks: list[str]
    conversations: int
    contents: int | None
    forwarded: dict[str, int]


class Forgetting(TypedDict):
    """A request to forget, and what was done for it.

    `phase`: `runs`, `scan` (spans of all runs are looked through for the user), `sessions`
    (runs without a user in sessions that are only theirs), `conversations`, `contents` (a sweep
    erases them), `done`. `contents` counts the erased ones, with thread nodes; `candidates` all that the runs and
    conversations named; `of_others` those that stay because others name them, `refs_of_others` up to 20 of them; and
    `named_again` those that somebody has stored or named since. `contents_until`: when the rest is erased, since a
    sender may believe until then that it is stored; null: now, or there is no rest.

    `runs_of_several_users` are gone, too: a record is not taken apart. `kept_for_forks`: runs that stay, since others
    were forked from them meanwhile. `forwarded`: how many of the runs each destination was or may have been sent;
    `not_forwarded`: what was still to be sent to it, and will not be. `advice`: what else has copies, and what to do.
    Ids of runs are listed up to 1,000.
    """

    id: str
    phase: Literal["runs", "scan", "sessions", "conversations", "contents", "done"]
    requested: str
    completed: str | None
    requested_by: str | None
    run_count: int
    runs: list[str]
    conversations: int
    candidates: int
    contents: int
    of_others: int
    refs_of_others: list[RefOfOthers]
    named_again: int
    contents_until: str | None
    runs_of_several_users: list[str]
    kept_for_forks: list[str]
    forwarded: dict[str, int]
    not_forwarded: dict[str, int]
    advice: list[str]


class Forgettings(TypedDict):
    """Requests to forget, the newest first."""

    items: list[Forgetting]


# --- operations ------------------------------------------------------------------------------------------------------

_LONGEST = 2_000

NewJob = Annotated[
    str | None,
    Bounds(pattern=RUN_ID, new=lambda: uuid.uuid4().hex, description="32 hex digits; the same request again is one."),
]
Job = Annotated[str, Bounds(pattern=RUN_ID, description="The request's id: 32 hex digits.")]
By = Annotated[
    Literal["run", "session", "user", "scope"],
    Bounds(
        description="`run`: one run. `session`: its runs, and the conversation with its id. `user`: their runs; "
        "the conversations of the scope with their name; and of sessions in which no other user has runs, the "
        "conversations and the runs without a user. `scope`: its "
        "conversations, and the runs of their sessions."
    ),
]
Value = Annotated[
    str,
    Bounds(min_length=1, max_length=_LONGEST, pattern=NO_NUL, description="The run's whole id, or the name."),
]
Forks = Annotated[bool, Bounds(description="Also forget the runs that were forked from these.")]

HowMany = Annotated[int, Bounds(ge=1, le=1_000, description="How many, at most.")]

_HAS_FORKS = "Other runs were forked from these and share their records; the message names some of them."


class ForgettingOperations:
    """Erasure of runs and conversations, with the contents that nobody else names."""

    @post("/forget/preview", scope=ADMIN, tag="content")
    def preview_forgetting(self, by: By, value: Value) -> ForgetPreview:
        """What a request to forget would do. Nothing is changed."""
        ...

    @post("/forget", scope=ADMIN, tag="content", also_refuses={409: _HAS_FORKS})
    def forget(
        self,
        by: By,
        value: Value,
        *,
        forks: Forks = False,
        id: NewJob = None,  # noqa: A002 - the name in the body
    ) -> Forgetting:
        """Forget a run, or all that a session, a user or a scope has. This cannot be taken back.

        Works for a few seconds and answers how far it is; the rest is done in the background. Runs are gone at once.
        Contents that nobody else names follow: at once, or after
        `PLAYHEAD_FORGET_AFTER_SECONDS` (an hour) if somebody stored or named them within that time, because senders
        believe for so long that they are stored.
        """
        ...

    @get("/forget/{job}", scope=ADMIN, tag="content")
    def forgetting(self, job: Job) -> Forgetting:
        """How far a request to forget is."""
        ...

    @get("/forget", scope=ADMIN, tag="content")
    def forgettings(self, *, limit: HowMany = 50) -> Forgettings:
        """Requests to forget: what was erased, and when. Whom they named is kept as a digest alone."""
        ...
