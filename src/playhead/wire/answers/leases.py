"""Answers about leases of runs; and log events, which a resume needs."""

from typing import Any, TypedDict


class RunLease(TypedDict):
    """The lease of a run: no other process can take it before `until`, unless it is forced.

    `holder` is the id of the process's journal, `process` its name for people, `attempt` which attempt at the run it
    makes.  Times are those of the database.
    """

    run: str
    holder: str
    process: str
    attempt: int
    since: str
    until: str


class Released(TypedDict):
    """`released`: whether this holder had the lease."""

    released: bool


class RunLog(TypedDict):
    """A log event as stored, with refs in place of payloads: state, checkpoints, annotations and others."""

    name: str
    time: str
    trace: str | None
    span: str | None
    attributes: dict[str, Any]
    scope: str
    resource: dict[str, Any]
