"""
Inference components and LoRA adapters: copies of models on shared instances.
"""
