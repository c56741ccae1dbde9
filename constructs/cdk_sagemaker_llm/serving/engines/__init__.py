"""
Engines in images of their own: vLLM, SGLang, llama.cpp and what else reads variables.

What belongs here is how such an image learns what to do: from variables that its entry
point turns into the engine's arguments, each image by a rule of its own.
"""
