"""How did the contexts of a run grow, how near did they come to the limits of their models, and what did that cost?

Method: counts that providers reported are used as they are; the rest is estimated from bytes and scaled with reported
counts of the same model.
"""
