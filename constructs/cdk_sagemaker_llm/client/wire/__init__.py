"""
The wire formats of the containers, one small module each.
"""
