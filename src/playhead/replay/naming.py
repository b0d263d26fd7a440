"""Finds the run that a user means, before anything is read of it or recorded under its id."""

import re
from collections.abc import Callable
from typing import Any

from playhead.errors import ClientError, CollectorUnreachable, NoRecord

_WHOLE = re.compile("[0-9a-f]{32}")
_MAX_NAMED = 100


def whole_run_id(named: Any, client: Callable[[], Any]) -> str:
    """Returns the id of the run. `named`: its id (also written as a UUID), a part of the id, or `last`.

    Asks the collector only for a part or `last`. Raises NoRecord; TypeError if `named` is not a text.
    """
    if not isinstance(named, str):
        raise TypeError(f"a run is named by its id, a text, and not by {named!r}: `playhead runs` lists them")
    if len(named) > _MAX_NAMED or not (named.isascii() and named.isprintable()):
        raise NoRecord(f"{named[:_MAX_NAMED]!r} is no run's id, nor a part of one: `playhead runs` lists them")
    written = named.strip().replace("-", "").lower()
    if _WHOLE.fullmatch(written):
        return written
    try:
        return str(client().run(named.strip())["run"])
    except CollectorUnreachable as error:
        raise NoRecord(
            f"{named!r} is not the whole id of a run, which has 32 digits, and what it means only a collector knows: "
            f"{error}"
        ) from error
    except ClientError as error:
        raise NoRecord(str(error)) from error
