"""What would a model have answered at this call, with other instructions, other messages, or as another model?

Method: the context of the recorded call is rebuilt, the caller's changes are applied, and a model of the operator is
asked once. Its answer is compared with the recorded one, and stored as content of the run that no event names.
"""
