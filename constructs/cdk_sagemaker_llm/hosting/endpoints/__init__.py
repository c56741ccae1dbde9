"""
Endpoints and their configurations, and how applications reach them.
"""
