"""project → [store] → live: which events each projection added, moved or changed.

difference  compares the events of a run before and after a projection
journal     stores and reads the differences
listening   notifies about new differences, with Postgres' LISTEN
store       implements `ports.changes` with these
"""
