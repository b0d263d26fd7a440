"""What an installed package has to do: it records an agent that fails, serves the run, and resumes it.

No journal's folder is named: where the default one cannot be made, records go from memory to the collector.
"""

RECORDS_AND_RESUMES = """
import logging, os, sys
import playhead
from playhead_collector.process import CollectorProcess

@playhead.observe(kind="tool")
def look_up(order):
    print("looked up")
    return {"order": order, "status": "delayed"}

@playhead.observe
def agent(question):
    status = look_up("A1")["status"]
    if os.environ.get("FAILS"):
        raise ValueError("once")
    return status

with CollectorProcess() as collector:
    playhead.configure(endpoint=collector.url)
    os.environ["FAILS"] = "1"
    try:
        agent("where?")
    except ValueError:
        pass
    assert playhead.flush(60)
    with playhead.Client(collector.url) as client:
        [run] = client.runs()
        kinds = [event["kind"] for event in client.events(run["run"])]
        assert kinds[:3] == ["run_started", "tool_called", "tool_completed"], kinds
        del os.environ["FAILS"]
        with playhead.resume(run["run"]):
            print(agent("where?"))
        assert playhead.flush(60)
        assert client.run(run["run"])["status"] == "completed"
    playhead.shutdown()
"""
PRINTS = "looked up\ndelayed\n"
"""The tool once, and the answer of the resumed run."""
