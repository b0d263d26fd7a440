"""A Postgres of our own, for whoever has none: app starts it before the store opens, and stops it last.

    <data dir>/lock           held for as long as we run; the kernel lets go of it even after kill -9
    <data dir>/postgres       the cluster
    <data dir>/postgres.log   what Postgres says; never statements or values, which may be somebody's prompts

It listens on a Unix socket in a folder that only its account may enter, never on the network.
`postgres.py` starts and ends it; `cluster.py` knows what lies on disk, and whose it is.
"""

from playhead_collector.embedded.postgres import EmbeddedPostgres, start

__all__ = ["EmbeddedPostgres", "start"]
