"""
Deployments that others publish, held against the check of support: none of them may be
refused for what its model's files say.
"""
