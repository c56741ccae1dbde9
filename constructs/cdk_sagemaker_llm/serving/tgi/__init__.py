"""
Text Generation Inference (TGI) on GPUs and on Neuron devices.

What belongs here knows the environment variables of its launcher.
"""
