"""[store]: packs of contents and thread nodes of sealed runs.

packs      finds packed contents and thread nodes by their refs
packing    moves contents and thread nodes of sealed runs from rows into packs
shrinking  frees the space of rows that have moved
"""
