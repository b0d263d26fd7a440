"""The code in the pages runs as it is printed, and the commands in them exist.

The blocks of Python in a page run one after the other, in a process of their own, beside a collector that has the
example agent's run. A block that cannot run is marked: `<!-- fragment: why -->`. Pages all of whose blocks have names
(`<!-- run: NAME -->`) need more around them, and have tests of their own.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from playhead.cli import app
from playhead_collector.process import CollectorProcess

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^(?:<!-- (run|fragment): (.+?) -->\n)?```(python|sh|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A block of code. `line`: where its first line stands in the page, from 1."""

    line: int
    language: str
    code: str
    name: str | None
    fragment: str | None


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    blocks: list[Block] = []
    for found in BLOCK.finditer(text):
        kind, word, language, code = found.groups()
        name, fragment = (word, None) if kind == "run" else (None, word)
        blocks.append(Block(text.count("\n", 0, found.start(4)) + 1, language, code, name, fragment))
    return blocks


def python_of(page: Path) -> list[Block]:
    return [block for block in blocks_of(page) if block.language == "python"]


def runs_here(page: Path) -> bool:
    return any(block.name is None and block.fragment is None for block in python_of(page))


RUN_HERE = [page for page in PAGES if runs_here(page) and page.name != "testing.md"]
# Its exit waits until all is delivered, to the collector and to functions: by default not for long.
DELIVERS = {"PLAYHEAD_EXIT_TIMEOUT_SECONDS": "120"}
RUN_BLOCKS = """\
import json, sys
page, blocks = json.load(sys.stdin)
scope = {"__name__": "page"}
for line, code in blocks:
    exec(compile("\\n" * (line - 1) + code, page, "exec"), scope)
"""


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url) as running:
        yield running


def environment(collector: CollectorProcess, folder: Path) -> dict[str, str]:
    nobody = "http://127.0.0.1:9"
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PLAYHEAD_", "OPENAI_"))},
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PLAYHEAD_ENDPOINT": collector.url,
        "PLAYHEAD_JOURNAL_DIR": str(folder / "journal"),
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "LANGFUSE_BASE_URL": nobody,
        "LANGFUSE_PUBLIC_KEY": "pk-lf-none",
        "LANGFUSE_SECRET_KEY": "sk-lf-none",
    }


def run(command: list[str], env: dict[str, str], cwd: Path, typed: str = "") -> str:
    done = subprocess.run(
        command, check=False, env=env, cwd=cwd, input=typed, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_in_order(page: Path, collector: CollectorProcess, tmp_path: Path):
    env = environment(collector, tmp_path)
    blocks = [block for block in python_of(page) if block.fragment is None]
    if any("Client(" in block.code for block in blocks):  # it asks about the last run
        run([sys.executable, str(ROOT / "examples" / "support_agent.py")], env | DELIVERS, tmp_path)
    if not any("export_to(" in block.code for block in blocks):  # to where nobody listens
        env |= DELIVERS
    typed = json.dumps([page.name, [(block.line, block.code) for block in blocks]])
    printed = run([sys.executable, "-c", RUN_BLOCKS], env, tmp_path, typed)
    assert bool(printed.strip()) == any(re.search(r"^ *print\(|on_event\(print", block.code, re.M) for block in blocks)


AGENT = '''\
"""An agent as those of the readers of docs/testing.md."""

import openai

import playhead
from playhead import observe

playhead.instrument("openai")


@observe(kind="tool")
def refund(order: str, amount: float) -> dict[str, float]:
    if amount > 100 and not playhead.approval("refund", details={"amount": amount}):
        raise ValueError("refused")
    return {"refunded": amount}


@observe(kind="agent")
def agent(task: str) -> str | None:
    if task == "refund everything":
        return _refund_everything()
    messages = [{"role": "user", "content": task}]
    answer = openai.OpenAI().chat.completions.create(model="m", messages=messages).choices[0].message
    [call] = answer.tool_calls
    result = refund(order="A1", amount=20)
    messages += [answer.model_dump(exclude_none=True)]
    messages += [{"role": "tool", "tool_call_id": call.id, "content": str(result)}]
    return openai.OpenAI().chat.completions.create(model="m", messages=messages).choices[0].message.content


def _refund_everything() -> str:
    try:
        playhead.approval("refund", details={"amount": 500})
    except playhead.Denied:
        playhead.approval("refund", details={"amount": 50})
    return f"{playhead.ask('Which shop?')}: {playhead.wait_for('payment', key='A1')}"
'''


def test_the_tests_of_the_page_about_tests_pass(collector: CollectorProcess, tmp_path: Path):
    page = ROOT / "docs" / "testing.md"
    blocks = [block.code for block in python_of(page) if block.fragment is None]
    (tmp_path / "my_agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "test_page.py").write_text("\n\n".join(blocks), encoding="utf-8")
    env = environment(collector, tmp_path)
    printed = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page.py"], env, tmp_path)
    tests = sum(block.count("def test_") for block in blocks)
    assert f"{tests} passed" in printed


def test_a_block_with_a_name_is_run_by_a_test_of_its_own():
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)
    )
    for page in PAGES:
        for name in {block.name for block in blocks_of(page)} - {None}:
            assert page.name in tests, page.name
            assert re.search(rf"[\"'./ ]{re.escape(str(name))}\b", tests), f"{page.name}: {name}"


# --- commands --------------------------------------------------------------------------------------------------------


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Each `playhead ...` in a block of commands or in a sentence, with its place."""
    for page in PAGES:
        inline = re.findall(r"`((?:[A-Z_]+=\S+ )*playhead [^`]+)`", page.read_text(encoding="utf-8"))
        in_blocks = [block.code for block in blocks_of(page) if block.language != "python"]
        joined = re.sub(r"\\\n\s*", " ", "\n".join([*in_blocks, *(text.replace("\n", " ") for text in inline)]))
        for part in re.split(r"\n|&&|;|\| ", joined):
            words = _words(part)
            if "playhead" in words:
                yield f"{page.name}: {part}", words[words.index("playhead") + 1 :]


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        return list(lexer)
    except ValueError:  # a quotation that goes on in the next line
        return []


def test_every_command_that_a_page_shows_exists_with_its_options():
    group: Any = get_command(app)
    shown = list(shown_commands())
    assert len(shown) > 150
    wrong = [f"{place}: {problem}" for place, words in shown if (problem := _problem(group, words)) is not None]
    assert wrong == []


# Options that may stand anywhere in the line, and those of `playhead run`, which reads its arguments itself.
ANYWHERE = {"--help", "--local", "--url", "--api-key", "--commands", "--tool"}


def _problem(command: Any, words: list[str]) -> str | None:
    """Returns the first word that is neither a command nor an option of the one before; None if there is none."""
    for number, word in enumerate(words):
        if word in ("--", "…"):
            return None
        if (commands := getattr(command, "commands", None)) is not None and not word.startswith("-"):
            found = commands.get(word)
            return f"no command {word}" if found is None else _problem(found, words[number + 1 :])
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        if word.startswith("--") and word.partition("=")[0] not in options | ANYWHERE:
            return f"no option {word}"
    return None
