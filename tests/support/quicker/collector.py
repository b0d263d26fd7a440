"""A collector, as a program that is forked: what `python -m playhead_collector.cli --json` does."""

import sys

import playhead_collector.workers.pool  # noqa: F401 - a collector imports it with its first settings
from playhead_collector.cli import serve

sys.exit(serve(as_json=True))
