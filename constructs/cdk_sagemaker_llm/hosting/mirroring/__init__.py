"""
Putting a serving image into a registry of one's own, before an endpoint needs it.

What belongs here defines the build that copies an image by its digest, and hands the
serving configurations the copy.
"""
