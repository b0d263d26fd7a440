"""Answers about redaction: what is masked in the data of a project before it is stored."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from playhead.wire.operations.bounds import Bounds
from playhead.wire.operations.operation import ADMIN, READ, delete, get, post, put

# --- answers ---------------------------------------------------------------------------------------------------------


class RedactedKind(TypedDict):
    """How many of one kind a job has looked at, and how many of these it has changed."""

    looked_at: int
    changed: int


class RedactionJob(TypedDict):
    """Rules that are run over what is stored.

    `state` is `running`, `done`, `stopped` (before its end), or `waiting`: its last step could not be made for the
    reason in `failed`, and is tried again.  `phase` is what it works on: contents, packs, runs, promises, records,
    search, done.
    `counts`: by kind.  `outdated`: the rules were changed since it was started.  `unchanged`: what it cannot change.
    Times are RFC 3339.
    """

    state: str
    phase: str
    counts: dict[str, RedactedKind]
    started: str
    updated: str
    ended: str | None
    failed: str | None
    outdated: bool
    unchanged: list[str]


class RedactionPreset(TypedDict):
    """A pattern that is built in, and what it masks."""

    name: str
    about: str


class RedactionAnswer(TypedDict):
    """What is masked in the data of a project.

    `keys`: names of members of JSON and of attributes, whose values are masked; `*` stands for any characters, and
    capitals make no difference.  `patterns`: regular expressions by name.  `presets`: names of built-in patterns, of
    `available_presets`.  `hook`: whether the operator's function (PLAYHEAD_REDACTION_HOOK) is called; `has_hook`:
    whether the collector has one.  `job`: the last job that ran the rules over what is stored; null: there was none.
    """

    keys: list[str]
    patterns: dict[str, str]
    presets: list[str]
    hook: bool
    has_hook: bool
    available_presets: list[RedactionPreset]
    job: RedactionJob | None


class RedactionTest(TypedDict):
    """What is left of a value by the rules of the project. `changed`: whether any of it is masked."""

    value: Any
    changed: bool


# --- operations ------------------------------------------------------------------------------------------------------

RedactionKeys = Annotated[
    Sequence[str],
    Bounds(max_length=200, description="Names of members and attributes; `*` stands for any characters."),
]
RedactionPatterns = Annotated[
    Mapping[str, str],
    Bounds(description="Regular expressions by name: repetitions have an end, but for the last part of each."),
]
RedactionPresets = Annotated[Sequence[str], Bounds(max_length=50, description="Names of built-in patterns.")]
RedactionHook = Annotated[bool, Bounds(description="Whether PLAYHEAD_REDACTION_HOOK is called for this project.")]
RedactionSample = Annotated[object, Bounds(description="A text or a JSON value.")]


class RedactionOperations:
    """Redaction rules of a project."""

    @get("/project/redaction", scope=READ, tag="projects")
    def redaction(self) -> RedactionAnswer:
        """What is masked in the data of the project, and how far the last job is."""
        ...

    @put("/project/redaction", scope=ADMIN, tag="projects", also_refuses={409: "There is no PLAYHEAD_REDACTION_HOOK."})
    def set_redaction(
        self,
        *,
        keys: RedactionKeys = (),
        patterns: RedactionPatterns = {},  # noqa: B006 - never changed
        presets: RedactionPresets = (),
        hook: RedactionHook = False,
    ) -> RedactionAnswer:
        """Set the rules of the project: all of them, so that what is left out is no rule any more.

        They hold for what arrives from now on; at other collectors on the database within seconds. Run them over what
        is stored with `POST /project/redaction/apply`.
        """
        ...

    @post("/project/redaction/test", scope=ADMIN, tag="projects")
    def try_redaction(self, value: RedactionSample = None) -> RedactionTest:
        """What the rules of the project leave of a value. Nothing is stored."""
        ...

    @post("/project/redaction/apply", scope=ADMIN, tag="projects", also_refuses={409: "The project has no rules."})
    def apply_redaction(self) -> RedactionJob:
        """Run the rules over what is stored, in the background. A job that is under way begins anew."""
        ...

    @delete("/project/redaction/apply", scope=ADMIN, tag="projects", also_refuses={404: "No job is under way."})
    def stop_redaction(self) -> RedactionJob:
        """Stop the job. What it has masked stays masked."""
        ...
