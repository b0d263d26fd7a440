"""[serve]: the questions of `playhead_collector.analysis` over HTTP, a file per question."""
