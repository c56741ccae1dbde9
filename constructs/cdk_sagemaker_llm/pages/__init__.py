"""
Reports as web pages that need nothing from elsewhere: no script, no font, no request.

What belongs here knows markup, charts, tables and the formats of pictures, and nothing
of what they show.
"""
