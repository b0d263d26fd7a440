"""Writes a run, with all contents that it names, to one file that `playhead import` reads: `reading` reads from the
store, `archive` writes the file."""

from playhead_collector.read.bundle.reading import write_bundle

__all__ = ["write_bundle"]
