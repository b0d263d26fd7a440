"""Nobody remembers anything: what the program comes to when it is simply run."""

import json
from collections.abc import Callable
from typing import Any


def workflow(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


model = tool = workflow


async def killed_here() -> None:
    """Not this one."""


async def main(trip: Callable[..., Any]) -> None:
    print(json.dumps(await trip()))
