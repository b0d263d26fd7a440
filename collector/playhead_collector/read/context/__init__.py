"""What exactly did the model see at a call, and which messages were in its context at a moment?"""
