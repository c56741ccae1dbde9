"""
Reports as web pages that need nothing from elsewhere: no script, no font, no request.

What belongs here knows markup, charts and tables, and nothing of what they show.
"""
