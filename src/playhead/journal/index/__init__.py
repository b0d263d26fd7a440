"""journal → [index] → local.  Where the records of each run stand in the journal's segments.

database    the SQLite file, its tables, and what is done when it is damaged or cannot be written
scanning    a segment's frames → rows                    updating   the folder's lanes → the index, up to now
pruning     what was deleted, out of the index      reading     the rows, and the frames that they name

Everything in it is derived from the segments: it may be deleted at any time, and is made again when it is asked for.
Only readers make and update it; programs that record do not need it, and do not wait for it.
"""
