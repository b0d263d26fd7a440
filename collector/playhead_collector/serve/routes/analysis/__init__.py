"""[serve]: routes for the questions of `playhead_collector.analysis`, a file per question."""
