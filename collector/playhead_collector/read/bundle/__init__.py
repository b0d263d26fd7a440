"""A run with all that it names, in one file that `playhead import` reads: `reading` takes it from the store, `archive`
writes the file."""

from playhead_collector.read.bundle.reading import write_bundle

__all__ = ["write_bundle"]
