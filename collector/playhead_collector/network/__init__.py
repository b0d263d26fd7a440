"""The network side: bounds of connections, before there is a request that [receive] or [serve] could answer.

    sockets → guard (how many) → protocol (deadlines, heads, refusals, probes) → application

guard        the bounds, from the settings; the open connections, counted by client address; closes those that are past
             their deadline
protocol     uvicorn's HTTP/1.1 protocol with these bounds, and the answers that it gives itself, as bytes
grpc_server  the port of OTLP over gRPC; its connections are bounded by options of gRPC's library
"""

import os

# gRPC's library reads these variables when it is imported. Processes that the collector starts do not use gRPC; with
# fork support, the library would log a line for each of them.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
# The library would log broken connections in its own format, as often as a client causes them.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
