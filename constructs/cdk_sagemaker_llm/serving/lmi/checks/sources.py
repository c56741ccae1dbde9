"""
Where the rules of LMI are from.
"""

from __future__ import annotations

FRONT_END = "djl-serving, wlm: LmiUtils and LmiConfigRecommender"
MODELS = "djl-serving, djl_python/properties_manager"
HANDLERS = "djl-serving, the handlers of djl_python"
DOCUMENTATION = "LMI documentation"
JAVA = "java.util.Properties"
# The property models, each by its own name.
DEEPSPEED = "DeepSpeedProperties"
HUGGING_FACE = "HuggingFaceProperties"
LMI_DIST = "LmiDistRbProperties"
NEURONX = "TransformerNeuronXProperties"
VLLM = "VllmRbProperties"
# The configuration of the engine itself.
LORA_CONFIG = "vLLM, LoRAConfig"
