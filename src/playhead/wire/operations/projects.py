"""Answers about projects: tenants of one collector, each with its own runs, contents and keys."""

from typing import Annotated, Literal, TypedDict

from playhead.wire.operations.bounds import Bounds
from playhead.wire.operations.operation import ADMIN, READ, delete, get, post, put

# --- answers ---------------------------------------------------------------------------------------------------------


class ProjectLimits(TypedDict):
    """What a project may send and have stored; null: as much as it likes.

    `spans_per_second` counts spans and log events at each collector. `bytes_per_day` counts bodies of requests, not
    compressed, per day (UTC). `stored_bytes` is compared with what `storage` says: rows and indexes of the project.
    """

    spans_per_second: int | None
    bytes_per_day: int | None
    stored_bytes: int | None


class ProjectAnswer(TypedDict):
    """A project.  `created` is RFC 3339. `encryption`: whether what is stored of it is encrypted; after its key was
    destroyed, nobody can read it."""

    name: str
    created: str
    limits: ProjectLimits
    encryption: Literal["off", "on", "key_destroyed"]


class ProjectUsage(ProjectAnswer):
    """A project, and what arrived of it today (UTC): spans and log events, and bytes of request bodies, not compressed.

    Both are some seconds old. `refused`: why its senders are refused at present; null: they are not.
    """

    spans_today: int
    bytes_today: int
    refused: str | None


class ProjectList(TypedDict):
    """All projects, the first one first."""

    items: list[ProjectAnswer]


class DestroyedKey(TypedDict):
    """`destroyed`: whether the project still had its key."""

    destroyed: bool


class DeletedProject(TypedDict):
    """`deleted`: whether there was such a project. Its rows are removed in the background."""

    deleted: bool


# --- operations ------------------------------------------------------------------------------------------------------

_LARGEST = 2**31 - 1
_LARGEST_BYTES = 2**53 - 1

ProjectName = Annotated[
    str,
    Bounds(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="Name of the project: letters, digits, dots, lines.",
    ),
]
SpansPerSecond = Annotated[int | None, Bounds(ge=1, le=_LARGEST, description="Null: no limit.")]
Encrypted = Annotated[
    bool, Bounds(description="Whether it gets a key of its own, which encrypts what is stored of it.")
]
BytesLimit = Annotated[int | None, Bounds(ge=1, le=_LARGEST_BYTES, description="Null: no limit.")]

_OPERATOR = "Only the operator's key (PLAYHEAD_ADMIN_KEY) may do this."


class ProjectOperations:
    """Projects of a collector."""

    @get("/project", scope=READ, tag="projects")
    def project(self) -> ProjectUsage:
        """The project of the key that asks: its limits, and what it sent today."""
        ...

    @get("/projects", scope=ADMIN, tag="projects", also_refuses={403: _OPERATOR})
    def projects(self) -> ProjectList:
        """List the projects of this collector."""
        ...

    @post(
        "/projects",
        scope=ADMIN,
        tag="projects",
        also_refuses={
            403: _OPERATOR,
            409: "There is a project of that name, or no PLAYHEAD_ADMIN_KEY is set, or it cannot be encrypted.",
        },
    )
    def create_project(self, name: ProjectName, *, encrypted: Encrypted = False) -> ProjectAnswer:
        """Make a project. Keys for it are made with the header `Playhead-Project: NAME`.

        An encrypted project stays encrypted, and no other one can be encrypted later.
        """
        ...

    @delete(
        "/projects/{name}/key",
        scope=ADMIN,
        tag="projects",
        also_refuses={403: _OPERATOR, 409: "The project is not encrypted."},
    )
    def destroy_key(self, name: ProjectName) -> DestroyedKey:
        """Destroy the key of an encrypted project. This cannot be taken back: nobody can read it any more.

        From then on it answers everything with 410, and can be deleted.
        """
        ...

    @put("/projects/{name}", scope=ADMIN, tag="projects", also_refuses={403: _OPERATOR})
    def limit_project(
        self,
        name: ProjectName,
        *,
        spans_per_second: SpansPerSecond = None,
        bytes_per_day: BytesLimit = None,
        stored_bytes: BytesLimit = None,
    ) -> ProjectAnswer:
        """Set the limits of a project: all three, so that one that is left out is no limit any more.

        Senders above a limit get 429 with `Retry-After`; nothing of theirs is lost that waits for it.
        """
        ...

    @delete(
        "/projects/{name}",
        scope=ADMIN,
        tag="projects",
        also_refuses={403: _OPERATOR, 409: "It is the first project, which cannot be deleted."},
    )
    def delete_project(self, name: ProjectName) -> DeletedProject:
        """Delete a project with all its runs, contents and keys. This cannot be taken back.

        Its keys are refused at once by this collector, and within seconds by others on the same database.
        """
        ...
