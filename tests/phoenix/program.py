"""Records the example agent, or recorded runs, and exports them to Phoenix."""

import sys
from itertools import islice
from pathlib import Path

from examples import support_agent

import playhead
from playhead.testing import Trajectories
from tests.support.replayed_runs import record

AGENT, RUNS = "agent", "runs"


def main(folder: Path, url: str, most_runs: int) -> None:
    playhead.export_to("phoenix", endpoint=url, project=sys.argv[4], public_url="https://playhead.example")
    if sys.argv[4] == AGENT:
        support_agent.main()
    else:
        playhead.instrument("openai")
        for _ in record(list(islice(Trajectories.load(folder), most_runs))):
            pass
    sys.exit(0 if playhead.flush(120) else "not everything was delivered")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
