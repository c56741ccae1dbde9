"""
Staged models: weights in a bucket of one's own, built or compiled there before an
endpoint needs them.

What belongs here defines the build that runs the worker of ``staging``, what starts it,
and what waits for it.
"""
