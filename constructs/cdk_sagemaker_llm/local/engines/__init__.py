"""
Stand-ins of model servers: how their containers start, what they compile, and what
they answer.
"""
