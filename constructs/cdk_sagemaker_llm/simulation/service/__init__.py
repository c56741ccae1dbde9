"""
Service times: how long a copy of a model takes for requests, and in which order it
serves them.
"""
