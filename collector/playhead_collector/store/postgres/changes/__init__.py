"""project → [store] → live: which events each projection added, moved or changed.

difference  compares the events of a run before and after a projection     journal   stores and reads the differences
listening   tells when there are new ones, by LISTEN              store     these, as a part of the store
"""
