"""Where promises are kept: files in the journal's folder, or the collector once it has them.

files      the journal's folder                    store      which of the two has a promise, and asks it
"""
