"""
Constructs, one for each thing the service has, and the patterns that compose them.
"""
