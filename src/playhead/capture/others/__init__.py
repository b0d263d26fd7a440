"""Other projects' instrumentations of our libraries: which exist, which are on, and whose spans count.

known        where each family keeps its instrumentor of a library, and whether it is switched on
preference   the setting `PLAYHEAD_PREFER`
"""
