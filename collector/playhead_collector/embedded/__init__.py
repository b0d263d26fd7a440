"""Embedded Postgres, for users without one: app starts it before the store opens, and stops it last.

    <data dir>/lock           held while the collector runs; the kernel releases it even after kill -9
    <data dir>/postgres       the cluster
    <data dir>/postgres.log   Postgres' log; never statements or values, which may be prompts of users

It listens on a Unix socket in a folder that only its account may enter, never on the network. `postgres.py` starts and
stops it; `cluster.py` manages its files, and the account that owns them.
"""

from playhead_collector.embedded.postgres import EmbeddedPostgres, start

__all__ = ["EmbeddedPostgres", "start"]
