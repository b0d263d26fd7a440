"""What is different between two moments of a run: its state, and what the model saw?"""
