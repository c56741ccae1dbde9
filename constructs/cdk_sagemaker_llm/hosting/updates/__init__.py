"""
How an update reaches an endpoint or a component, and what turns it back.
"""
