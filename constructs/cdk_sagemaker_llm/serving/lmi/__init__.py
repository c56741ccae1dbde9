"""
The backends on Large Model Inference (LMI) images, and folders written for these.

What belongs here knows serving.properties, or the front end and the handlers that
read it.
"""
