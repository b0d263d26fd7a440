"""What the frameworks' own classes look like to us, with the frameworks of this environment."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json
from typing import Annotated, Any, Optional
from agents import RunContextWrapper
from agents.tool_context import ToolContext
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, InjectedToolCallId
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.base import BaseStore
from pydantic_ai import RunContext
from playhead.calls.injected import injected_parameters

def tool(
    order: str,
    config: RunnableConfig,
    perhaps: Optional[RunnableConfig],
    call: Annotated[str, InjectedToolCallId],
    state: Annotated[dict, InjectedState()],
    store: Annotated[BaseStore, InjectedStore()],
    runtime: ToolRuntime,
    wrapper: RunContextWrapper,
    context: ToolContext[Any],
    ctx: RunContext[dict[str, int]],
    noted: Annotated[str, "a note"],
) -> Any: ...

print(json.dumps(sorted(injected_parameters(tool))))
"""


@pytest.mark.slow
@pytest.mark.parametrize("head", ["", "from __future__ import annotations\n"])
def test_parameters_that_frameworks_fill_in_are_known(head: str):
    done = subprocess.run([sys.executable, "-c", head + PROGRAM], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) == {
        "config", "perhaps", "call", "state", "store", "runtime", "wrapper", "context", "ctx",
    }  # fmt: skip
