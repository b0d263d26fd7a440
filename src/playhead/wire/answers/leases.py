"""Which process goes on with a run; and what it recorded besides spans, which it needs for that."""

from typing import Any, TypedDict


class RunLease(TypedDict):
    """A process goes on with the run, and says so again before `until`: nobody else may until then.

    `holder` is the journal that it writes to, `process` what people know it by.  Times are the database's.
    """

    run: str
    holder: str
    process: str
    since: str
    until: str


class Released(TypedDict):
    """Whether there was a lease of this holder to give back."""

    released: bool


class RunLog(TypedDict):
    """A log event as stored, payload-free: state, checkpoints, annotations, and what else a program has said."""

    name: str
    time: str
    trace: str | None
    span: str | None
    attributes: dict[str, Any]
    scope: str
    resource: dict[str, Any]
