"""
What roles may do, and why.

What belongs here is about IAM's documents alone: the reason for each action that the
library asks for, and what of one document another one allows.
"""
