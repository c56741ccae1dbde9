"""
Small runnable apps, one a capability, and the demonstration of all of it.
"""
