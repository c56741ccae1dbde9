"""
Maintenance of the project; nothing of it is shipped.
"""
