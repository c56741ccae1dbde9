"""
Roles and permissions: what hosting may do, what others may do with it, and where on the
network it runs.
"""
