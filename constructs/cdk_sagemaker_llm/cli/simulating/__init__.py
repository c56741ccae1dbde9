"""
What ``sagemaker-llm simulate`` reads of an app, plays out in time, and shows.
"""
