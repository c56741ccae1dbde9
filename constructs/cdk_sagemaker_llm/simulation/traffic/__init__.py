"""
What is asked of a model over time: how often, and how long prompts and answers are.
"""
