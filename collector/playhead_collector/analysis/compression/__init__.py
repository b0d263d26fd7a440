"""What did a compression drop from the context, and was it needed later?

Method: the messages before and after are aligned; facts (ids, numbers, dates, names) of dropped messages that no kept
message and no summary contains are lost; a lost fact is needed if a later step of the agent looks it up again or uses
it.
"""
