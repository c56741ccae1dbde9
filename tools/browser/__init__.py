"""
The browser that opens the reports: found, or installed from Debian's packages.
"""
