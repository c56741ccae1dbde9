"""
Builds, jobs and functions: what runs once, as this library orders it.
"""
