"""`python -m benchmarks.compaction`: measures all methods; writes results.json and the tables of docs/compaction.md.

PLAYHEAD_TRAJECTORIES names the folder of recorded runs. `make compaction` installs the other projects first.
"""

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import asdict

import openai

from benchmarks.compaction.conversations import CutConversation, cut_at
from benchmarks.compaction.measuring import measure
from benchmarks.compaction.method import Method
from benchmarks.compaction.others import PROGRAMS, OtherMethod
from benchmarks.compaction.ours import own_methods
from benchmarks.compaction.summariser import RuleSummariser
from benchmarks.compaction.table import PAGE, RESULTS, SHARES, Results, merged, with_tables
from playhead.testing import MockModelServer, UnreadableTrajectories
from tests.support.replayed_runs import FOLDER, recorded_runs


def main() -> None:
    """Ends the process with a message where there are no recorded runs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compaction", description=__doc__)
    parser.add_argument("--only", help="measure only this project, and keep the figures of the others")
    parser.add_argument("--check", action="store_true", help="only say whether there are recorded runs")
    options = parser.parse_args()
    try:
        runs = recorded_runs()
    except UnreadableTrajectories as error:
        sys.exit(f"The recorded runs cannot be read: {error}")
    if not runs:
        sys.exit(
            f"There are no recorded runs in {FOLDER}: PLAYHEAD_TRAJECTORIES has to name a folder with some (*.json)."
        )
    if options.check:
        return
    logging.getLogger("playhead").setLevel(logging.ERROR)  # conversations that are too short to be compressed
    conversations = {share: [cut_at(run, share) for run in runs] for share in SHARES}
    results = measured(conversations, options.only)
    if options.only:
        results = merged(json.loads(RESULTS.read_text(encoding="utf-8")), results)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


def measured(conversations: dict[float, list[CutConversation]], only: str | None) -> Results:
    """Measures each method at each share. Programs that are not installed are named as such."""
    summariser = RuleSummariser()
    results: Results = {"methods": [], "not_measured": []}
    # Not through a proxy that the environment may name: the server is on this machine.
    http = openai.DefaultHttpxClient(trust_env=False)
    server = MockModelServer(keep_requests=False)
    server.otherwise(summariser.answer)
    with server, openai.OpenAI(base_url=server.base_url, api_key="none", http_client=http) as client:
        for method in _methods(client, server.url, only, results["not_measured"]):
            figures = {}
            for share, cut in conversations.items():
                print(f"{method.project} {method.title} at {share:.0%} ...", file=sys.stderr)
                figures[f"{share:.0%}"] = asdict(measure(method, cut, summariser))
            results["methods"].append(
                {"project": method.project, "title": method.title, "version": method.version, "figures": figures}
            )
    return results


def _methods(client: openai.OpenAI, url: str, only: str | None, missing: list[str]) -> Iterator[Method]:
    if only in (None, "Playhead"):
        yield from own_methods(client)
    for program in PROGRAMS:
        if only not in (None, program.project):
            continue
        if not program.is_installed:
            named = f"{program.project} (needs {program.needs})" if program.needs else program.project
            missing += [] if named in missing else [named]
            continue
        with OtherMethod(program, url) as method:
            yield method


if __name__ == "__main__":
    main()
