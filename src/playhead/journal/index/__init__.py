"""journal → [index] → local.  Finds the records of each run in the journal's segments.

database    the SQLite file, its tables, and what is done when it is damaged or cannot be written
updating    makes rows of the segments' frames, and removes those of deleted segments
pruning     does that where segments were just deleted, if there is an index
reading     reads the rows, and the frames they point to

Everything in it is derived from the segments: it may be deleted at any time, and is rebuilt when it is next read.
Only readers create and update it; programs that record do not need it, and do not wait for it.
"""
