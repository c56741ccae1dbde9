"""
Checks of the environments of the engines' own servers.

What belongs here is a rule and the small function that finds it broken.
"""
