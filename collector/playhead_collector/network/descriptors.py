"""Makes room for file descriptors: each connection takes one, and so do database connections and logs."""

import logging
import sys

from playhead_collector.network.guard import Limits

if sys.platform != "win32":
    import resource

log = logging.getLogger(__name__)

# Descriptors for the pool, the listener, logs, the embedded Postgres, and libraries that are loaded late.
_OTHERS = 200


def make_room(limits: Limits) -> None:
    """Raises this process's limit of open files as far as permitted, so that there is one for each connection. Logs a
    warning if the limit stays too low."""
    if sys.platform == "win32":  # Windows has no such limit
        return
    # gRPC may have as many connections as HTTP.
    wanted = 2 * limits.max_connections + limits.reserve + _OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        if most < wanted:
            log.warning(
                "this process may open %s files and %s connections need %s: raise its limit (ulimit -n), or lower "
                "PLAYHEAD_MAX_CONNECTIONS",
                most,
                limits.max_connections,
                wanted,
            )
