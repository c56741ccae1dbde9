"""
The same deployment with this library and with its two nearest peers, before the same
linters: ``make peers``.
"""
