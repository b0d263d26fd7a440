"""`playhead tree`: a run as a tree.

calls      its calls, each below its caller      decisions  its decisions, and runs that decided differently
"""
