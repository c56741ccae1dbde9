"""
Stand-ins of engines in images of their own: how they start, and what they answer.
"""
