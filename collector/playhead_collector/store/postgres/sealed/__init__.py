"""[store]: what sealed runs name, packed.

packs     contents and thread nodes that are packed, found by their refs
packing   what a sealed run names moves from rows into packs
shrinking gives back the space of rows that have moved
"""
