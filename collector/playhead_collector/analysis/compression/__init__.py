"""What did a compression drop from the context, and was it needed later?

Method: the messages before and after are aligned. Facts (ids, numbers, dates, names) of removed messages are lost if no
kept message and no summary contains them. A lost fact was needed if the agent later asks for it, looks it up again,
uses it, or uses a wrong value.
"""
