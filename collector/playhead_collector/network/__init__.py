"""The network side: connections, before there is a request that [receive] or [serve] could answer.

    sockets → guard (how many) → protocol (deadlines, heads, refusals, probes) → application

limits     the bounds, from the settings
guard      the open connections, counted by client address; closes those that are past their deadline
protocol   uvicorn's HTTP/1.1 protocol with these bounds
canned     answers that are ready before they are asked for
outgoing   a transport that knows how much its client has taken
"""
