"""
SageMaker itself, without HTTP: endpoints, inference components and jobs, their state
and their rules.
"""
