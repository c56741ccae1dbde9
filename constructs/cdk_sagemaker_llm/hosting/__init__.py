"""
Constructs, one for each thing the service has, and the patterns that compose them.

What belongs here makes resources of the CDK, or decides before that whether they may
be made.
"""
