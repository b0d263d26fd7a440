"""One observed call, from its beginning to its end, and what a recorder and a replay do for it.

begin      which run the call belongs to, and where      lifecycle    enter, then finish, fail or abort
span       the OpenTelemetry span of the call            mirror_span  the same call in the program's provider
flow       which task or thread job makes the call       grouping     the run of calls that no agent encloses
functions  wrappers for functions and generators         proxy        the object that stands for the function
recorder   port: what a recorder does                    replay       port: what answers calls from a record
runtime    the recorder and the hooks that are installed
"""
