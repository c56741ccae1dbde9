"""
The processes of a run, in which Locust has gevent take Python's sockets over.

Nothing else may import these modules.
"""
