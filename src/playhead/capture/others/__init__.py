"""Other people's instrumentations of the libraries that ours record: which are there, which are on, and who counts.

known        where each family keeps its instrumentor of a library, and whether it is switched on
preference   the setting `PLAYHEAD_PREFER`
"""
