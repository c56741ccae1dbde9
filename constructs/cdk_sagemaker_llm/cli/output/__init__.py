"""
What the commands show: on the terminal, as a page, as a picture, and in files.
"""
