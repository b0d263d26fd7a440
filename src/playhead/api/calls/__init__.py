"""[api]: one observed call, from its beginning to its end.

begin   which run the call belongs to, and where       lifecycle    enter, then finish, fail or abort
span    the OpenTelemetry span of the call             mirror_span  the same call in the program's provider
flow    which task or thread job makes the call        grouping     the run of calls that no agent encloses
"""
