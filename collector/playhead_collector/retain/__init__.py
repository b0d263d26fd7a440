"""store → [retain]: what happens to stored data later, in the background.

packer        packs contents and thread nodes of sealed runs
forgetter     forgets what somebody asked to be forgotten, and erases its contents
sweeper       deletes content that no run names any more, after a grace period
object_mover  moves large contents into the object store, and deletes objects that no row names
"""
