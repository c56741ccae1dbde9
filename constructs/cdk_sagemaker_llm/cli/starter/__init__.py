"""
The files of a new app.

What belongs here is what ``sagemaker-llm new`` writes, and how it is filled in.
"""
