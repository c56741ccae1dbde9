"""
What an app defines, read once out of its templates, for every command.
"""
