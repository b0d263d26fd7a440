"""Records whose end is lost: the journal's file is shorter than what was written to it.

What the run did there is not known. Executing it again may do the same twice, as with a call in doubt.
"""

import logging
from collections.abc import Callable
from typing import Any

from playhead.errors import ClientError, InDoubt
from playhead.model import names
from playhead.replaying.policy import Policy
from playhead.replaying.record import MergedRecord, Record, RemoteRecord, last_attempt

log = logging.getLogger("playhead")


def with_delivered_ends(run_id: str, record: Record, client: Callable[[], Any]) -> Record:
    """Returns the record merged with the collector's, if the collector has acknowledged all that the journal has lost;
    else the record itself."""
    certain = [end for end in record.lost_ends if end.is_certain]
    if not certain or not all(end.is_delivered for end in certain):
        return record
    try:
        return MergedRecord(record, RemoteRecord(client(), run_id))
    except ClientError:
        return record


def check_lost_ends(run_id: str, record: Record, policy: Policy) -> None:
    """Raises InDoubt if the record has lost its end. Only warns if calls in doubt are executed again, or if the process
    may have been killed while it wrote the last record."""
    if not record.lost_ends or _has_ended(run_id, record):
        return
    certain = [end for end in record.lost_ends if end.is_certain]
    if not certain:
        log.warning(
            "the last record in %s is incomplete: the process was killed while it wrote that, or the file has lost its "
            "end; what run %s did after that, if anything, is executed again", record.lost_ends[0].path, run_id
        )  # fmt: skip
        return
    files = ", ".join(f"{end.path} (at least {end.lost_bytes} bytes)" for end in certain)
    sentence = f"the end of the record of run {run_id} is lost: it was cut off {files}"
    if policy.in_doubt == "rerun":
        log.warning("%s; what the run did there is executed again", sentence)
        return
    is_delivered = all(end.is_delivered for end in certain)
    elsewhere = "The collector has it: see that it can be reached, and resume again. " if is_delivered else ""
    raise InDoubt(
        f"{sentence}. Nobody knows which calls the run completed there, and they would be executed again. {elsewhere}"
        "To let the run go on from what is left: in_doubt='rerun' (playhead resume --in-doubt rerun)"
    )


def _has_ended(run_id: str, record: Record) -> bool:
    """Whether the record has the end of the run's last attempt: nothing of the run came after that."""
    last = last_attempt(record.spans)
    return any(
        span.end_ns is not None
        and names.RUN_ROOT in span.attributes
        and (span.attributes.get(names.RUN_ID), span.attributes.get(names.RUN_ATTEMPT)) == (run_id, last)
        for span in record.spans
    )
