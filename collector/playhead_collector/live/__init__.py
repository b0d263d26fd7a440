"""store → [live] → serve: sends events of runs, as they become known, to clients that stay connected.

    store notifies of changes → hub: one reader per process → channel: one per followed run → follower: one per client

messages   server-sent events, encoded once for all clients; a client's position in a stream, as text
reading    reads the messages after a position
hub        wakes channels that have news; a channel has recent messages in memory, shared by clients
follower   the answer to one client

Every event (by its id) is sent once, in the order in which it became known; within one projection, by seq. An event
whose data changed later is sent again as `changed`. When a late event moved others to higher seqs, `moved` says from
which seq on: the late event itself is sent, the moved ones are not sent again.
"""
