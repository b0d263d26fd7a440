"""The public surface is short, and this test pins it."""

import ast
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import playhead
import playhead.errors
from playhead.errors import PlayheadError, Suspended


def test_the_public_names_are_these():
    assert playhead.__all__ == [
        "REASONING_PROMPT",
        "RERUN",
        "Agent",
        "AgentContext",
        "AgentResult",
        "Ask",
        "AsyncClient",
        "BadRequest",
        "CannotRestore",
        "Client",
        "ClientError",
        "CollectorUnreachable",
        "Conflict",
        "Conversation",
        "ConversationConflict",
        "Denied",
        "History",
        "InDoubt",
        "Interrupted",
        "JournalUnusable",
        "LlmTask",
        "MaskedContent",
        "MaxTurnsExceeded",
        "NoRecord",
        "NotAuthorized",
        "NotFound",
        "OutputInvalid",
        "PlayheadError",
        "RefLogExporter",
        "RefSpanExporter",
        "RefSpanProcessor",
        "Prompt",
        "ReplayDiverged",
        "ReplayError",
        "RunAlive",
        "RunStopped",
        "RunTakenOver",
        "SettingInvalid",
        "Suspended",
        "TaskResult",
        "Tool",
        "ToolArgumentsInvalid",
        "ToolDenied",
        "Unanswered",
        "UnrecordedTools",
        "annotate",
        "answer",
        "answers",
        "answers_async",
        "approval",
        "approval_async",
        "approve",
        "ask",
        "ask_async",
        "cached",
        "checkpoint",
        "compressed",
        "configure",
        "conversation",
        "conversation_async",
        "counters",
        "current_run_id",
        "deny",
        "doctor",
        "event",
        "export_to",
        "flush",
        "fork",
        "handoff",
        "idempotency_key",
        "instrument",
        "interrupt",
        "list_conversations",
        "mcp_tools",
        "metric",
        "notes",
        "now",
        "observe",
        "on_event",
        "open_promises",
        "propagate_to_thread",
        "read_local",
        "resume",
        "run",
        "score",
        "shutdown",
        "tool",
        "uninstrument",
        "wait_for",
        "wait_for_async",
    ]


def test_every_error_that_a_program_can_get_has_a_public_name():
    raised = {
        name
        for name, value in vars(playhead.errors).items()
        if isinstance(value, type) and issubclass(value, PlayheadError | Suspended)
    }
    assert raised - set(playhead.__all__) == {"NotFaithful"}, "NotFaithful alone never leaves this package"


def test_type_checkers_see_the_same_names_from_the_same_modules():
    tree = ast.parse(Path(playhead.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)]
    seen = {
        (alias.asname, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module != "collections.abc"
        for alias in node.names
    }
    assert seen == set(playhead._MODULE_OF.items())


def test_no_module_of_the_package_has_the_name_of_a_public_function():
    """Importing it would replace the function."""
    modules = {module.name for module in pkgutil.iter_modules(playhead.__path__)}
    assert modules & set(playhead.__all__) == set()
    assert modules >= {"client", "configuring", "replaying"}


def test_each_of_them_is_there_and_says_what_it_is_for():
    for name in playhead.__all__:
        assert (getattr(playhead, name).__doc__ or "").strip(), name


def test_importing_the_package_loads_no_http_library_no_command_line_and_no_collector():
    heavy = {"fastapi", "httpx", "openai", "playhead_collector", "pydantic", "pydantic_core", "rich", "typer"}
    program = f"import sys, playhead; print(*{heavy!r} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


def test_without_pydantic_the_names_of_the_agent_say_what_to_install():
    program = """\
import sys
sys.modules["pydantic"] = None
import playhead
assert playhead.REASONING_PROMPT and playhead.MaxTurnsExceeded
for name in ("tool", "LlmTask", "Agent", "AgentContext", "Ask", "mcp_tools"):
    try:
        getattr(playhead, name)
    except ImportError as error:
        print(error)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    sentence = "playhead.tool, playhead.LlmTask and playhead.Agent need pydantic: pip install 'playhead[agent]'"
    assert result.stdout.splitlines() == [sentence] * 6


def test_a_call_is_recorded_whichever_name_was_imported_alone(tmp_path: Path):
    program = "from playhead import observe; observe(lambda: 1)(); import playhead; print(playhead.current_run_id())"
    environment = {**os.environ, "PLAYHEAD_JOURNAL_DIR": str(tmp_path), "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, capture_output=True)
    assert [path.stat().st_size > 100 for path in tmp_path.glob("*/*.segment")] == [True]
