"""
Whether an engine's release loads a model: its class, its length, its number formats,
and what is asked for, against what the checkpoint is and the GPU can do.

What belongs here knows releases and checkpoints, and no image and no variable; each
engine has its rules in files of its own.
"""
