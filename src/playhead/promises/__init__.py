"""Where promises are kept: files in the journal's folder, or the collector once it has them.

files      promises in the journal's folder        store      finds which of the two has a promise, and uses it
"""
