"""store → [retain]: what happens to stored data later, in the background.

packer        packs contents and thread nodes of sealed runs
forgetter     forgets what somebody asked to be forgotten, and erases its contents
sweeper       deletes content that no run names any more, after a grace period
policy        what a project's policy says about a run: its tier, why, and what comes next
retainer      moves runs from tier to tier, once a day and on request
object_mover  moves large contents into the object store, and deletes objects that no row names
"""
