"""
Production variants: which instances an endpoint runs on, and what is known of them.
"""
