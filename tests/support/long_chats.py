"""Conversations and histories at a collector, of any size: what a turn costs, and what kills and outages leave of them.

The wire tests run them small, `python -m benchmarks --only CV1` and the others in full size.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import playhead
from tests.support.counting_proxy import CountingProxy

MESSAGE = "lorem ipsum dolor sit amet, " * 12


def chat(count: int) -> list[dict[str, str]]:
    """About 400 bytes for each message."""
    return [{"role": ("user", "assistant")[at % 2], "content": f"message {at}: {MESSAGE}"} for at in range(count)]


# --- a long conversation ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn: a question and an answer, saved. `seconds` of its save, `sent`: bytes to the collector."""

    seconds: float
    sent: int


def long_conversation(name: str, turns: int, proxy: CountingProxy, *, begun_anew: int = 0) -> list[Turn]:
    """Saves so many turns. `begun_anew`: after so many turns, the conversation is opened anew, as by the next process,
    without reading its messages; 0: never."""
    seen: list[Turn] = []
    conversation = playhead.conversation(name)
    for number in range(turns):
        if begun_anew and number % begun_anew == 0:
            conversation = playhead.conversation(name)
        conversation.append("user", f"question {number}: {MESSAGE}")
        conversation.append("assistant", f"answer {number}: {MESSAGE}")
        before, sent = time.perf_counter(), proxy.sent
        conversation.save()
        seen.append(Turn(time.perf_counter() - before, proxy.sent - sent))
    assert not conversation.is_pending, "the collector did not answer"
    return seen


# --- kills ------------------------------------------------------------------------------------------------------------

# Forks writers and kills each somewhere in a save; prints how many saves were acknowledged.
KILLER = """
import os, random, signal, sys, time, playhead
from playhead.conversations.keeping import conversation_store
from tests.support import patience
patience.wait_for_collector()
name, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
playhead.conversation("warm").save()
acknowledged = 0
for _ in range(kills):
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        conversation = playhead.conversation(name)
        while True:
            conversation.append("user", f"message {len(conversation)}")
            conversation.save()
            os.write(writes, b"+")
    os.close(writes)
    for _ in range(1 + chance.randrange(3)):
        acknowledged += len(os.read(reads, 1))
    time.sleep(chance.random() * 0.03)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    acknowledged += len(os.read(reads, 65_536))
    os.close(reads)
conversation_store().deliver()
print(acknowledged)
"""


@dataclass(slots=True)
class KilledWriters:
    """What came of a conversation whose writers were killed. `acknowledged`: saves that had returned; `kept`: messages
    that are there, one for each save."""

    acknowledged: int = 0
    kept: int = 0
    lost: int = 0
    doubled: int = 0
    branches: int = 0


def killed_writers(name: str, kills: int, url: str, journal: Path, seed: int = 34) -> KilledWriters:
    """Kills so many writers, one after the other, at a random place of a save."""
    env = {**os.environ, "PLAYHEAD_ENDPOINT": url, "PLAYHEAD_JOURNAL_DIR": str(journal)}
    env["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-W", "ignore", "-c", KILLER, name, str(kills), str(seed)]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=3_000, check=False)
    assert ended.returncode == 0, ended.stderr
    texts = [message["content"] for message in playhead.conversation(name).messages]
    acknowledged = int(ended.stdout.split()[-1])
    return KilledWriters(
        acknowledged=acknowledged,
        kept=len(texts),
        lost=len({f"message {number}" for number in range(acknowledged)}.difference(texts)),
        doubled=len(texts) - len(set(texts)),
        branches=len([head for head in playhead.list_conversations() if head.id.startswith(f"{name}/branch-")]),
    )


# --- an outage --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class OutageOutcome:
    """What two machines' messages came to over an outage: `lost` messages, and `branches`."""

    lost: int
    branches: int


def two_writers_over_an_outage(name: str, proxy: CountingProxy, url: str, folder: Path) -> OutageOutcome:
    """One machine reaches the collector through the proxy, which is cut; the other goes on meanwhile."""

    def machine(which: str) -> None:
        playhead.configure(endpoint=proxy.url if which == "one" else url, journal_dir=folder / which)

    said: set[str] = set()

    def say(conversation: playhead.Conversation, text: str) -> None:
        conversation.append("user", text)
        conversation.save()
        said.add(text)

    machine("one")
    one = playhead.conversation(name)
    say(one, "shared")
    machine("two")
    two = playhead.conversation(name)
    machine("one")
    proxy.is_cut = True
    for number in range(3):
        say(one, f"one {number}")
    assert one.is_pending
    machine("two")
    for number in range(2):
        say(two, f"two {number}")
    proxy.is_cut = False
    machine("one")
    assert playhead.conversation(name).revision == two.revision  # what is pending is brought
    heads = [head for head in playhead.list_conversations() if head.id == name or head.id.startswith(f"{name}/branch-")]
    kept = {message["content"] for head in heads for message in playhead.conversation(head.id).messages}
    return OutageOutcome(len(said - kept), len(heads) - 1)


# --- histories --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class EngineHistory:
    """Bytes that an engine keeps of a workflow: the argument and the result of each step, as JSON."""

    lists: int = 0
    refs: int = 0
    seconds: list[float] = field(default_factory=list[float])
    """Of each step: reading the history, and persisting it longer."""


def engine_history(scope: str, steps: int) -> EngineHistory:
    """A workflow of so many steps over one growing chat: with the list of messages, and with a ref."""
    kept = EngineHistory()
    value: Any = []
    messages: list[dict[str, str]] = []
    for number in range(steps):
        kept.lists += len(json.dumps(messages))
        kept.refs += len(json.dumps(value))
        messages.append({"role": ("user", "assistant")[number % 2], "content": f"step {number}: {MESSAGE}"})
        before = time.perf_counter()
        history = playhead.History.load(json.loads(json.dumps(value)), scope=scope)
        history.append(messages[-1])
        assert history.persist(), "no collector answers"
        kept.seconds.append(time.perf_counter() - before)
        value = history.to_json()
        kept.lists += len(json.dumps(messages))
        kept.refs += len(json.dumps(value))
    assert playhead.History.load(value).hydrate() == messages
    return kept
