"""
Pictures of a chat, a load test and a benchmark, from real runs on the embedded AWS.

What belongs here runs the commands as a user does, and draws what they show.
"""
