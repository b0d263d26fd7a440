"""Loads the recorded values (clock, random numbers, UUIDs) of a run into the run that continues it."""

from playhead.api.recorded_values import kinds_of, set_recorded_values
from playhead.calls.run import ActiveRun
from playhead.model import names
from playhead.replay.record import Record


def load_recorded_values(run: ActiveRun, record: Record, upto: int | None = None, since: int = 0) -> None:
    """Gives the run the recorded values. `upto`: for a fork, only values read before the call with this order number;
    `since`: for a run that continues from a checkpoint, only values read after this order number.

    The run records the same kinds of values as its record, whatever the code says now.
    """
    roots = (span.attributes for span in record.spans if names.RECORDED_VALUES in span.attributes)
    kinds = kinds_of(next((attributes[names.RECORDED_VALUES] for attributes in roots), None))
    read = [(int(log.attributes.get(names.CALL_ORDER, 0)), log) for log in record.logs if log.name == names.VALUE_READ]
    read = [pair for pair in read if (upto is None or pair[0] < upto) and (not since or pair[0] > since)]
    read.sort(key=lambda pair: pair[0])
    if kinds or read:
        values = [(str(log.attributes.get(names.VALUE_OF)), log.attributes.get(names.VALUE)) for _, log in read]
        set_recorded_values(run, kinds, values)
    if kinds:
        run.root = {**run.root, names.RECORDED_VALUES: ",".join(sorted(kinds))}
