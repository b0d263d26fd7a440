"""Every file in examples/frameworks runs as it stands: with no key, no network, and no collector.

That of CrewAI is run in the environment of CrewAI: tests/crewai.
"""

from pathlib import Path

import pytest

from playhead.model import names
from tests.support.journal_reader import read_journal
from tests.support.programs.examples import ROOT, run_example

EXAMPLES = sorted(path for path in (ROOT / "examples/frameworks").glob("*.py") if path.name != "crewai_agent.py")


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_is_recorded(path: Path, tmp_path: Path) -> None:
    done = run_example(path, tmp_path)
    assert done.code == 0, done.errors
    assert done.out.strip()
    assert "Traceback" not in done.errors
    seen = read_journal(tmp_path)
    kinds = {str(span.attributes[names.KIND]) for span in seen.spans}
    assert {"agent", "llm", "tool"} <= kinds
    assert len({span.attributes[names.RUN_ID] for span in seen.spans}) == 1
