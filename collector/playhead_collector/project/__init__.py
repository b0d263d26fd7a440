"""store → [project] → read.  Decides when a run is projected, and does the I/O for it (`runner`).

The rules by which spans become events are pure and shared with the SDK: `playhead.project`.  `packer` packs sealed runs
in the background.
"""
