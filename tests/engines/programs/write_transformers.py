"""
Write the tiny model as transformers reads it, into the folder that is named.
"""

from __future__ import annotations

import sys

import tiny
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

folder = sys.argv[1]
model = tiny.tiny_model()

config = LlamaConfig(
    vocab_size=len(model.tokens),
    hidden_size=tiny.WIDTH,
    intermediate_size=tiny.INNER,
    num_hidden_layers=tiny.LAYERS,
    num_attention_heads=tiny.HEADS,
    num_key_value_heads=tiny.KEY_HEADS,
    max_position_embeddings=tiny.CONTEXT,
    rms_norm_eps=1e-5,
    tie_word_embeddings=False,
    bos_token_id=model.tokens.index(tiny.BEGIN),
    eos_token_id=model.tokens.index(tiny.END),
)
llama = LlamaForCausalLM(config)
llama.load_state_dict({name: torch.tensor(one) for name, one in model.weights.items()})
llama.save_pretrained(folder)

vocabulary = {token: number for number, token in enumerate(model.tokens)}
tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=model.merges))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens([AddedToken(one, special=True) for one in tiny.SPECIAL])
PreTrainedTokenizerFast(
    tokenizer_object=tokenizer,
    bos_token=tiny.BEGIN,
    eos_token=tiny.END,
    chat_template=tiny.TEMPLATE,
).save_pretrained(folder)
