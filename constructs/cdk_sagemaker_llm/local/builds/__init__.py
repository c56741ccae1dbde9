"""
CodeBuild's builds, Lambda's functions and the events that call them.
"""
