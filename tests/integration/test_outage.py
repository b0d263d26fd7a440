"""An agent goes on while its collector is away, and afterwards the record is whole: the real parts, end to end."""

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import openai
import pytest

import playhead
from playhead import observe
from playhead.testing import MockModelServer, text
from playhead_collector.process import CollectorProcess

CALLS = 6


@pytest.fixture
def port() -> Iterator[int]:
    """A port that the system gives to nobody else: a socket of ours has it, which does not listen. Who asks for this
    port, with SO_REUSEADDR as servers do, gets it."""
    with closing(socket.socket()) as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@pytest.fixture
def recording(tmp_path: Path, port: int) -> Iterator[None]:
    playhead.configure(endpoint=f"http://127.0.0.1:{port}", journal_dir=tmp_path / "journal", linger_seconds=0.0)
    playhead.instrument("openai")
    yield
    playhead.uninstrument("openai")
    playhead.shutdown(0.1)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    # Not tmp_path: its parents are closed to others, and as root Postgres runs as somebody else.
    folder = Path(tempfile.mkdtemp(prefix="playhead-tests-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.usefixtures("recording")
def test_a_collector_that_is_killed_in_the_middle_of_a_run_has_all_of_it_when_it_is_back(data_dir: Path, port: int):
    collector = CollectorProcess(data_dir=data_dir, port=port).start()
    with MockModelServer() as server, openai.OpenAI(base_url=server.base_url, api_key="none") as client:
        server.otherwise(text("noted"))

        @observe
        def agent() -> str:
            messages = [{"role": "user", "content": "begin"}]
            for number in range(CALLS):
                if number == CALLS // 2:
                    assert playhead.flush(60)
                    collector.kill()
                answer = client.chat.completions.create(model="m", messages=messages)  # pyright: ignore[reportArgumentType]
                said = answer.choices[0].message.content or ""
                messages += [{"role": "assistant", "content": said}, {"role": "user", "content": f"note {number}"}]
            return playhead.current_run_id() or ""

        run = agent()
    assert not playhead.flush(0.2)
    with CollectorProcess(data_dir=data_dir, port=port), playhead.Client(f"http://127.0.0.1:{port}") as asked:
        assert playhead.flush(60)
        summary = asked.run(run)  # waits for the projection, as lists do not
        assert (summary["status"], summary["llm_calls"]) == ("completed", CALLS)
        assert next(iter(asked.runs()))["status"] == "completed"
        assert summary["completeness"]["complete"]
        assert len(list(asked.messages(run))) == 2 * CALLS
        kinds = [event["kind"] for event in asked.events(run)]
        assert (kinds.count("llm_called"), kinds.count("llm_completed")) == (CALLS, CALLS)
