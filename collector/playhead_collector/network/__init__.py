"""The network side: connections, before there is a request that [receive] or [serve] could answer.

    sockets → guard (how many) → protocol (deadlines, heads, refusals, probes) → application

limits     the bounds, from the settings
guard      the open connections, counted by client address; closes those that are past their deadline
protocol   uvicorn's HTTP/1.1 protocol with these bounds
canned     answers that are ready before they are asked for
outgoing   a transport that knows how much its client has taken
grpc_server  the port of OTLP over gRPC, and bounds of its connections, which gRPC's library keeps
"""

import os

# Read by gRPC's library when it is imported. The processes that the collector starts do not use gRPC; its preparations
# for that would log a line for each of them.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
# It would log a line of its own form for each of some kinds of broken connections, as often as somebody opens them.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
