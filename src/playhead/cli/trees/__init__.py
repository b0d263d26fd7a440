"""`playhead tree`: a run as a tree.

calls      its calls, each below the one that made it      decisions  its decisions, and the runs that went another way
"""
