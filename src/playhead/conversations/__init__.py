"""Conversations and histories: messages that outlive a process, saved as the ref of their thread.

| module | what |
|---|---|
| `conversation` | `playhead.conversation`: append, save by revision, branch |
| `keeping` | where they are kept: at the collector, or in the journal's folder until it answers |
| `folder`, `at_collector` | the two places |
| `messages` | messages as they are stored, and back |
| `heads` | what is known of a conversation without its messages |
"""
