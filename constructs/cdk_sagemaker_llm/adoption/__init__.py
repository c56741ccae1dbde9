"""
Endpoints that exist, or that a script makes, as an app that makes the same.

What belongs here is what was read of a deployment, in the API's own shapes, and how it
is said in Python. It holds no secret, and calls nothing that changes anything.
"""
