"""What does an event rest on, back to the user's words, and what rested on it later?

Method: events are nodes; an edge says that one event used a value, a message or a decision of another. Edges from
recorded ids are certain; edges from values have the strength of the rule that found the source (see `provenance`).
"""
