"""What would a model have answered at this call, with other instructions, other messages, or as another model?

Method: the recorded call's context is rebuilt, what the caller changes is put in, and the operator's model is asked
once. Its answer is compared with the recorded one and stored as content of the run that no event names.
"""
