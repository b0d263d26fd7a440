"""A collector, as a program that is forked: what `python -m playhead_collector.cli --json` does."""

import sys

from playhead_collector.cli import serve

sys.exit(serve(as_json=True))
