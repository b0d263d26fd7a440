"""`python -m playhead_collector.workers.scorer_process`: calls functions that score runs, one at a time.

The same program as `worker`, with the same limits, but for the functions of the operator in place of our questions.
"""

import asyncio
import importlib
import inspect
import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final, cast

from playhead.model.scored_run import GivenScore, ScoredRun, scored_run_from
from playhead_collector.errors import Refused
from playhead_collector.workers.protocol import Setup
from playhead_collector.workers.worker import Respond, serve_questions

log = logging.getLogger(__name__)

_MOST_SCORES: Final = 20
_MAX_NAME, _MAX_CATEGORY, _MAX_COMMENT, _MAX_ERROR = 200, 1_000, 10_000, 1_000


def calling(_: Setup) -> Respond:
    """Returns what answers a question: the name of a function, and the run."""

    async def respond(head: Mapping[str, Any]) -> bytes:
        run = scored_run_from(head["options"]["run"])
        scores = await call(head["name"], run)
        return json.dumps([asdict(score) for score in scores]).encode("ascii")

    return respond


async def call(where: str, run: ScoredRun) -> list[GivenScore]:
    """Calls the function `module:function` and returns its scores. Raises Refused."""
    try:
        function = _function(where)
        # In a thread of its own, without a running event loop: the function may start one.
        answer = await asyncio.to_thread(function, run)
        if inspect.isawaitable(answer):
            answer = await answer
        return scores_of(answer)
    except Refused:
        raise
    except MemoryError:
        raise
    except BaseException as error:
        log.exception("the scorer %s failed on run %s", where, run.run)
        text = f"{where}: {type(error).__name__}: {error}"[:_MAX_ERROR]
        raise Refused(422, "scorer_failed", text) from error


def _function(where: str) -> Callable[[ScoredRun], Any]:
    module, _, name = where.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def scores_of(answer: object) -> list[GivenScore]:
    """Returns the scores in a function's answer: a value or a score, several in a list, values by name in a dict, or
    None for no score. Raises Refused."""
    if answer is None:
        return []
    if isinstance(answer, Mapping):
        named = cast(Mapping[object, object], answer)
        scores = [replace(_score(value), name=str(name)) for name, value in named.items()]
    elif isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
        scores = [_score(value) for value in cast(Sequence[object], answer)]
    else:
        scores = [_score(answer)]
    if len({score.name for score in scores}) < len(scores):
        raise _bad("several scores of one name: give each a name of its own")
    for score in scores:
        if score.name is not None and not 0 < len(score.name) <= _MAX_NAME:
            raise _bad(f"a name of {len(score.name)} characters: give from 1 to {_MAX_NAME}")
    if len(scores) > _MOST_SCORES:
        raise _bad(f"{len(scores)} scores: give at most {_MOST_SCORES}")
    return scores


def _score(value: object) -> GivenScore:
    score = value if isinstance(value, GivenScore) else GivenScore(cast(Any, value))
    number: object = cast(object, score.value)
    if isinstance(number, str):
        if not 0 < len(number) <= _MAX_CATEGORY:
            raise _bad(f"a category of {len(number)} characters: give from 1 to {_MAX_CATEGORY}")
    elif isinstance(number, bool):
        pass
    elif not isinstance(number, int | float) or not math.isfinite(number):
        raise _bad(f"{number!r}: give a finite number, a boolean, the name of a category, or a GivenScore")
    comment = None if score.comment is None else str(score.comment)[:_MAX_COMMENT]
    label = None if score.label is None or isinstance(number, str) else str(score.label)[:_MAX_CATEGORY] or None
    value = number if isinstance(number, str | bool) else float(cast(float, number))
    return GivenScore(value, comment, score.name, label)


def _bad(why: str) -> Refused:
    return Refused(422, "bad_score", f"the function returned {why}"[:_MAX_ERROR])


if __name__ == "__main__":
    serve_questions(calling)
