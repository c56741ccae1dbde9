"""
What containers write while all is well.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.account.diagnosis import causes_in
from cdk_sagemaker_llm.account.passages import Passage

# Banners, progress, harmless warnings and the end of an instance that scaling takes
# away, as engines, servers and packages write them.
HEALTHY = (
    """\
INFO 11-21 10:00:00 [__init__.py:241] Automatically detected platform cuda.
INFO 11-21 10:00:01 [api_server.py:1839] vLLM API server version 0.11.0
INFO 11-21 10:00:01 [utils.py:233] non-default args: {'model': '/opt/ml/model', 'port': 8080, 'tensor_parallel_size': 4}
""",
    """\
WARNING 11-21 10:00:00 [config.py] Casting torch.bfloat16 to torch.float16.
""",
    """\
INFO 11-21 [gpu_model_runner.py:2602] Starting to load model /opt/ml/model...
Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:03<00:00,  1.05it/s]
""",
    """\
Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%|██████████| 67/67 [00:03<00:00, 20.02it/s]
""",
    """\
INFO 11-21 [core.py:210] init engine (profile, create kv cache, warmup model) took 69.12 seconds
INFO:     Application startup complete.
""",
    """\
INFO:     Shutting down
INFO:     Waiting for application shutdown.
INFO:     Application shutdown complete.
INFO:     Finished server process [1]
""",
    """\
[rank0]:[W1121 ProcessGroupNCCL.cpp:1479] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources.
""",
    """\
/usr/local/lib/python3.12/site-packages/transformers/utils/hub.py:111: FutureWarning: Using `TRANSFORMERS_CACHE` is deprecated and will be removed in v5 of Transformers. Use `HF_HOME` instead.
""",
    """\
WARNING 11-21 [cuda.py:103] Current vLLM config is not using flash-attn; performance may be lower.
""",
    """\
WARNING: The following generation flags are not valid and may be ignored: ['temperature']
""",
    """\
INFO 11-21 [metrics.py] Avg prompt throughput: 12.1 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%
""",
    """\
INFO:     127.0.0.1:0 - "GET /ping HTTP/1.1" 200 OK
INFO:     169.254.178.2:0 - "POST /invocations HTTP/1.1" 200 OK
""",
    """\
[INFO ] ModelServer - Starting model server ...
[INFO ] ModelServer - Starting djl-serving: 0.33.0 ...
[INFO ] FolderScanPluginManager - scanning for plugins...
[INFO ] ModelServer - Initialize BOTH server with: EpollServerSocketChannel.
[INFO ] ModelServer - BOTH API bind to: http://0.0.0.0:8080
""",
    """\
[INFO ] LmiUtils - Detected mpi_mode: false, rolling_batch: disable, tensor_parallel_degree: 1, for modelType: qwen3
[WARN ] LmiUtils - Unable to find config.json of the adapter, skip
""",
    """\
[INFO ] PyProcess - Start process: 19000 - retry: 0
[INFO ] PyProcess - W-222-stdout: Python engine started.
[INFO ] PyProcess - Model [model] initialized.
[INFO ] WorkerPool - scaling up min workers by 1 (from 0 to 1) workers.
""",
    """\
2024-07-22T08:04:11Z  INFO text_generation_launcher: Args { model_id: "a/b", max_concurrent_requests: 128, max_batch_prefill_tokens: None, quantize: None }
2024-07-22T08:04:12Z  INFO text_generation_launcher: Using attention flashinfer - Prefix caching true
""",
    """\
2024-07-22T08:04:13Z  INFO shard-manager: text_generation_launcher: Starting shard rank=0
2024-07-22T08:04:23Z  INFO shard-manager: text_generation_launcher: Waiting for shard to be ready... rank=0
2024-07-22T08:04:33Z  INFO shard-manager: text_generation_launcher: Shard ready in 20.1s rank=0
""",
    """\
2024-07-22T08:04:40Z  INFO text_generation_router_v3: Warming up model
2024-07-22T08:04:50Z  INFO text_generation_router: Setting max batch total tokens to 106368
2024-07-22T08:04:50Z  INFO text_generation_router: Connected
""",
    """\
2024-07-22T08:04:11Z  WARN text_generation_router: no pipeline tag found for model /opt/ml/model
""",
    """\
2024-07-22T08:04:11Z  WARN text_generation_launcher: Disabling exllama v2 and using v1 instead because there are issues when sharding
""",
    """\
2024-07-22T08:04:11Z  INFO text_generation_launcher: Files are already present on the host. Skipping download.
""",
    """\
[2025-01-12 14:12:33] server_args=ServerArgs(model_path='/opt/ml/model', mem_fraction_static=0.88, tp_size=1, kv_cache_dtype='auto', tool_call_parser=None, lora_paths=None)
[2025-01-12 14:12:34] Init torch distributed begin.
[2025-01-12 14:12:36] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=6.49 GB
""",
    """\
[2025-01-12 14:12:40] Memory pool end. avail mem=2.35 GB
[2025-01-12 14:12:41] Capture cuda graph begin. This can take up to several minutes.
[2025-01-12 14:12:51] Capture cuda graph end. Time elapsed: 9.91 s
[2025-01-12 14:12:52] The server is fired up and ready to roll!
""",
    """\
Downloading shards: 100%|██████████| 4/4 [01:10<00:00, 17.6s/it]
Fetching 12 files: 100%|██████████| 12/12 [00:01<00:00]
""",
    """\
WARNING:root:Some weights of LlamaForCausalLM were not initialized: ['lm_head.weight']
""",
    """\
Setting `pad_token_id` to `eos_token_id`:2 for open-end generation.
""",
    """\
huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...
""",
    """\
[1121 10:00:00] [INFO] Handling signal: term
[INFO] Worker exiting (pid: 17730)
[INFO] Shutting down: Master
""",
    """\
Special tokens have been added in the vocabulary, make sure the associated word embeddings are fine-tuned or trained.
""",
    """\
2025-11-21 10:00:00 DEBUG 02-09 [platforms/__init__.py:88] Exception happens when checking CUDA platform: NVML Shared Library Not Found
""",
    """\
INFO 11-21 [weight_utils.py:392] Time spent downloading weights for a/b: 21.5 seconds
INFO 11-21 [gpu_worker.py:298] Available KV cache memory: 14.21 GiB
INFO 11-21 [kv_cache_utils.py:1087] GPU KV cache size: 106,368 tokens
""",
    """\
INFO 11-21 [launcher.py:42] Route: /v1/chat/completions, Methods: POST
INFO 11-21 [launcher.py:42] Route: /ping, Methods: GET, POST
INFO 11-21 [launcher.py:42] Route: /invocations, Methods: POST
""",
    """\
INFO 11-21 [model.py:1510] Using max model len 8192
INFO 11-21 [scheduler.py:205] Chunked prefill is enabled with max_num_batched_tokens=2048.
""",
    """\
WARNING 11-21 [model.py:1945] Downcasting torch.float32 to torch.bfloat16.
""",
    """\
WARNING 11-21 [serving_chat.py] Default sampling parameters have been overridden by the model's Hugging Face generation config
""",
    """\
/opt/conda/lib/python3.11/site-packages/torch/cuda/__init__.py:61: FutureWarning: The pynvml package is deprecated. Please install nvidia-ml-py instead.
""",
    """\
NCCL version 2.27.3+cuda12.9
[Gloo] Rank 0 is connected to 3 peer ranks. Expected number of connected peer ranks is : 3
""",
    """\
NCCL WARN Could not find: libnccl-net.so. Using internal net plugin.
""",
    """\
2024-07-22T08:04:11Z  INFO text_embeddings_router: Starting FlashBert model on Cuda(CudaDevice(DeviceId(1)))
2024-07-22T08:04:12Z  WARN text_embeddings_router: Backend does not support a batch size > 8
2024-07-22T08:04:13Z  INFO text_embeddings_router: Ready
""",
    """\
[TensorRT-LLM][INFO] Engine version 0.12.0 found in the config file, assuming engine(s) built by new builder API.
[TensorRT-LLM][INFO] MPI size: 1, MPI local size: 1, rank: 0
[TensorRT-LLM][INFO] Loaded engine size: 16004 MiB
""",
    """\
llama_model_loader: loaded meta data with 22 key-value pairs
llama_new_context_with_model: KV self size = 1024.00 MiB
main: server is listening on 0.0.0.0:8080
""",
    """\
WARNING 11-21 [lora_model_runner_mixin.py] Regarding multimodal models, vLLM currently only supports adding LoRA to language model.
""",
    """\
INFO 11-21 [parallel_state.py:1208] rank 0 in world size 1 is assigned as DP rank 0, PP rank 0, TP rank 0, EP rank 0
""",
    """\
WARNING 11-21 [custom_all_reduce.py:137] Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence this warning, specify disable_custom_all_reduce=True explicitly.
""",
    """\
WARNING 11-21 [marlin_utils_fp4.py] Your GPU does not have native support for FP8 computation but FP8 quantization is being used. Weight-only FP8 compression will be used leveraging the Marlin kernel.
""",
    """\
WARNING 11-21 [fused_moe.py:886] Using default MoE config. Performance might be sub-optimal! Config file not found at /usr/local/lib/E=128,N=768,device_name=NVIDIA_L40S.json
""",
    """\
[notice] A new release of pip is available: 23.0.1 -> 24.0
[notice] To update, run: pip install --upgrade pip
""",
    """\
Xet Storage is enabled for this repo, but the 'hf_xet' package is not installed. Falling back to regular HTTP download. For better performance, install the package with: `pip install huggingface_hub[hf_xet]` or `pip install hf_xet`
""",
    """\
HF_TASK=text-generation
HF_MODEL_ID=/opt/ml/model
SM_NUM_GPUS=1
""",
    """\
WARN killing 'vllm' (45) with SIGKILL
INFO stopped: vllm (terminated by SIGKILL)
""",
    """\
Token indices sequence length is longer than the specified maximum sequence length for this model (5132 > 4096). Running this sequence through the model will result in indexing errors
""",
    """\
2024-Sep-10 10:00:00.0 11:11 INFO NRT:nrt_init Neuron Runtime 2.21.41.0 built on Jul 1 2024
""",
    """\
CUDA is not available, falling back to CPU
""",
    """\
`torch_dtype` is deprecated! Use `dtype` instead!
""",
    """\
Using a slow image processor as `use_fast` is unset and a slow processor was saved with this model. `use_fast=True` will be the default behavior in v4.52
""",
    """\
You are using the default legacy behaviour of the <class 'transformers.models.llama.tokenization_llama.LlamaTokenizer'>.
""",
    """\
INFO 11-21 [loggers.py:123] Engine 000: Avg prompt throughput: 0.0 tokens/s
INFO:     10.0.0.1:1234 - "GET /health HTTP/1.1" 200 OK
""",
    """\
The model weights are not tied. Please use the `tie_weights` method before using the `infer_auto_device` function.
""",
    """\
=============================
== Triton Inference Server ==
=============================
NOTE: The SHMEM allocation limit is set to the default of 64MB.  This may be
   insufficient for the inference server.  NVIDIA recommends the use of the following flags:
   docker run --gpus all --ipc=host --ulimit memlock=-1 --ulimit stack=67108864 ...
NOTE: CUDA Forward Compatibility mode ENABLED.
  Using CUDA 12.4 driver version 550.54.15 with kernel driver version 535.161.07.
""",
    """\
2024-05-01T10:00:00,000 [INFO ] main org.pytorch.serve.ModelServer - Loading initial models: model.mar
2024-05-01T10:00:01,000 [DEBUG] main org.pytorch.serve.wlm.ModelManager - updateModel: model, count: 1
2024-05-01T10:00:02,000 [INFO ] W-9000-model_1.0-stdout MODEL_LOG - Torch worker started.
2024-05-01T10:00:03,000 [INFO ] W-9000-model_1.0 org.pytorch.serve.wlm.WorkerThread - Backend response time: 2120
2024-05-01T10:00:03,000 [DEBUG] W-9000-model_1.0 org.pytorch.serve.wlm.WorkerThread - W-9000-model_1.0 State change WORKER_STARTED -> WORKER_MODEL_LOADED
""",
    """\
Warning: MMS is using non-default JVM parameters: -XX:-UseContainerSupport
2023-05-01T10:00:00,000 [INFO ] main com.amazonaws.ml.mms.ModelServer - MMS Home: /opt/conda/lib/python3.9/site-packages
2023-05-01T10:00:01,000 [INFO ] W-9000-model com.amazonaws.ml.mms.wlm.WorkerThread - Connecting to: /home/model-server/tmp/.mms.sock.9000
2023-05-01T10:00:09,000 [INFO ] W-model-1-stdout com.amazonaws.ml.mms.wlm.WorkerLifeCycle - Model model loaded io_fd=1
2023-05-01T10:00:10,000 [INFO ] pool-2-thread-3 ACCESS_LOG - /169.254.178.2:37022 "GET /ping HTTP/1.1" 200 1
""",
    """\
2025-01-01 10:00:00,000 INFO supervisord started with pid 1
2025-01-01 10:00:01,000 INFO spawned: 'vllm' with pid 7
2025-01-01 10:00:11,000 INFO success: vllm entered RUNNING state, process has stayed up for > than 10 seconds (startsecs)
""",
    """\
ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA A10G, compute capability 8.6, VMM: yes
load_tensors: offloaded 33/33 layers to GPU
llama_context: n_ctx_per_seq (4096) < n_ctx_train (131072) -- the full capacity of the model will not be utilized
srv    load_model: initializing slots, n_slots = 4
main: chat template, chat_template: {%- if messages[0]["role"] == "system" %}
""",
    """\
INFO 05-01 10:00:00 [cuda.py:292] Using Flash Attention backend on V1 engine.
WARNING 05-01 10:00:00 [cuda.py:95] To see benefits of async output processing, enable CUDA graph. Since, enforce-eager is enabled, async output processor cannot be used
INFO 05-01 10:00:01 selector.py:54] Using XFormers backend.
INFO 05-01 10:00:01 selector.py:217] Cannot use FlashAttention-2 backend for Volta and Turing GPUs.
""",
    """\
INFO 05-01 10:00:00 config.py:1020] Defaulting to use mp for distributed inference
WARNING 05-01 10:00:00 arg_utils.py:953] Chunked prefill is enabled by default for models with max_model_len > 32K. Currently, chunked prefill might not work with some features or models. If you encounter any issues, please disable chunked prefill by setting --enable-chunked-prefill=False.
INFO 05-01 10:00:01 llm_engine.py:249] Initializing an LLM engine (v0.6.4) with config: model='/opt/ml/model', speculative_config=None, trust_remote_code=False, revision=None
INFO 05-01 10:00:09 gpu_executor.py:122] # GPU blocks: 27898, # CPU blocks: 2048
INFO 05-01 10:00:19 model_runner.py:1518] Graph capturing finished in 10 secs, took 0.23 GiB
""",
    """\
[2025-05-01 10:00:00] INFO:     127.0.0.1:40000 - "GET /get_model_info HTTP/1.1" 200 OK
[2025-05-01 10:00:01] Prefill batch. #new-seq: 1, #new-token: 7, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0
[2025-05-01 10:00:02] Using KV cache dtype: torch.bfloat16
[2025-05-01 10:00:02] Attention backend not explicitly specified. Use flashinfer backend by default.
[2025-05-01 10:00:03] max_total_num_tokens=121664, chunked_prefill_size=2048, max_prefill_tokens=16384, max_running_requests=2048, context_len=8192
""",
    """\
2025-04-01T10:00:00Z  INFO text_embeddings_router: Maximum number of tokens per request: 512
2025-04-01T10:00:00Z  INFO text_embeddings_core::tokenization: Starting 2 tokenization workers
2025-04-01T10:00:01Z  WARN text_embeddings_router: The input sequences will be truncated to 512 tokens even if the model `max_input_length` is greater than the provided `--max-batch-tokens`
2025-04-01T10:00:01Z  INFO hf_hub: Using token file found "/root/.cache/huggingface/token"
""",
    """\
2025-01-01T10:00:00Z  INFO text_generation_launcher: Default `max_batch_prefill_tokens` to 4096
2025-01-01T10:00:00Z  INFO text_generation_launcher: Successfully downloaded weights for /opt/ml/model
2025-01-01T10:00:09Z  INFO text_generation_launcher: Cuda Graphs are enabled for sizes [32, 16, 8, 4, 2, 1]
2025-01-01T10:00:10Z  WARN text_generation_router_v3: Model supports prefix caching but does not support chunked prefill
2025-01-01T10:00:11Z  WARN text_generation_router::server: Invalid hostname, defaulting to 0.0.0.0
""",
    """\
Neuron SDK Version 2.21.0
2025-01-01 10:00:00.0 INFO ||NEURON_CC_WRAPPER||: Using a cached neff at /var/tmp/neuron-compile-cache/neuronxcc-2.16/MODULE_1/model.neff
INFO:Neuron:Generating HLOs for the following models: ['context_encoding_model', 'token_generation_model']
INFO:Neuron:Done compilation for the priority HLO
Compiler status PASS
""",
    """\
[notice] No requirements.txt to install
/usr/local/lib/python3.11/site-packages/huggingface_hub/file_download.py:896: FutureWarning: `resume_download` is deprecated and will be removed in version 1.0.0.
Retrying in 1s [Retry 1/5].
"POST /v1/chat/completions HTTP/1.1" 200
""",
    """\
INFO 07-02 15:11:13 api_server.py:178] args: Namespace(host=None, port=8514, uvicorn_log_level='info', allow_credentials=False, allowed_origins=['*'], allowed_methods=['*'], allowed_headers=['*'], api_key=None, lora_modules=None, chat_template=None, response_role='assistant', ssl_keyfile=None, ssl_certfile=None, ssl_ca_certs=None, ssl_cert_reqs=0, root_path=None, middleware=[], return_tokens_as_token_ids=False, disable_frontend_multiprocessing=False, enable_request_id_headers=False, enable_auto_tool_choice=False, enable_reasoning=False, reasoning_parser=None, tool_call_parser=None, tool_parser_plugin='', model='unsloth/Qwen2.5', task='auto', tokenizer=None, skip_tokenizer_init=False, revision=None, code_revision=None, tokenizer_revision=None, tokenizer_mode='auto', trust_remote_code=True, download_dir=None, load_format='auto', dtype='auto', kv_cache_dtype='auto', quantization_param_path=None, max_model_len=512, worker_use_ray=False, pipeline_parallel_size=1, tensor_parallel_size=1, max_parallel_loading_workers=None, ray_workers_use_nsight=False, block_size=16, enable_prefix_caching=False, use_v2_block_manager=False, num_lookahead_slots=0, seed=0, swap_space=4, gpu_memory_utilization=0.9, forced_num_gpu_blocks=None, max_num_batched_tokens=None, max_num_seqs=256, max_logprobs=5, disable_log_stats=False, quantization=None, enforce_eager=False, max_context_len_to_capture=8192, disable_custom_all_reduce=False, enable_lora=False, max_loras=1, max_lora_rank=16, lora_extra_vocab_size=256, limit_mm_per_prompt={'image': 5}, speculative_model=None, num_speculative_tokens=None, guided_decoding_backend='outlines', scheduler_delay_factor=0.0, long_prefill_token_threshold=0, ignore_patterns=[], preemption_mode=None, otlp_traces_endpoint=None, local_files_only=False, disable_cascade_attn=False)
[2024-12-20 03:14:40] server_args=ServerArgs(model_path='liuhaotian/llava', tokenizer_path='liuhaotian/llava', tokenizer_mode='auto', skip_tokenizer_init=False, load_format='auto', trust_remote_code=False, dtype='auto', kv_cache_dtype='auto', quantization=None, context_length=None, device='cuda', served_model_name='liuhaotian', chat_template=None, is_embedding=False, revision=None, host='127.0.0.1', port=30000, mem_fraction_static=0.88, max_running_requests=None, max_total_tokens=None, chunked_prefill_size=2048, max_prefill_tokens=16384, schedule_policy='lpm', schedule_conservativeness=1.0, cpu_offload_gb=0, tp_size=1, stream_interval=1, random_seed=902724198, constrained_json_whitespace_pattern=None, watchdog_timeout=300, download_dir=None, base_gpu_id=0, log_level='info', decode_log_interval=40, api_key=None, dp_size=1, load_balance_method='round_robin', ep_size=1, dist_init_addr=None, nnodes=1, node_rank=0, json_model_override_args='{}', enable_double_sparsity=False, speculative_draft_model_path=None, speculative_algorithm=None, grammar_backend='xgrammar', disable_cuda_graph=False, cuda_graph_max_bs=160, enable_nccl_nvls=False, enable_ep_moe=False, ep_num_redundant_experts=0)
2024-09-22T09:31:24.526652Z  INFO text_generation_launcher: Args { model_id: "Intel/neural-chat-7b-v3-3", revision: None, validation_workers: 2, sharded: None, num_shard: None, quantize: None, speculate: None, dtype: None, trust_remote_code: false, max_concurrent_requests: 128, max_best_of: 2, max_stop_sequences: 4, max_top_n_tokens: 5, max_input_tokens: None, max_input_length: None, max_total_tokens: None, waiting_served_ratio: 0.3, max_batch_prefill_tokens: None, max_batch_total_tokens: None, max_waiting_tokens: 20, max_batch_size: None, cuda_graphs: None, hostname: "x", port: 80, shard_uds_path: "/tmp/text-generation-server", master_addr: "localhost", master_port: 29500, huggingface_hub_cache: Some("/data"), weights_cache_override: None, disable_custom_kernels: false, cuda_memory_fraction: 1.0, rope_scaling: None, json_output: true, otlp_endpoint: None, cors_allow_origin: [], watermark_gamma: None, ngrok: false, tokenizer_config_path: None, disable_grammar_support: false, env: false, max_client_batch_size: 4, lora_adapters: None, usage_stats: On }
2024-08-30T18:59:12.959986Z  INFO hf_hub: Token file not found "/root/.cache/huggingface/token"
2024-08-30T18:59:13.012501Z  INFO text_generation_launcher: Model supports up to 32768 but tgi will now set its default to 4096 instead. This is to save VRAM by refusing large prompts in order to allow more users on the same hardware. You can increase that size using `--max-batch-prefill-tokens=32818 --max-total-tokens=32768 --max-input-tokens=32767`.
2023-07-17T13:31:34.284700Z  WARN text_generation_launcher: `trust_remote_code` is set. Trusting that model `conceptofmind/Hermes-Falcon-7b-2k` do not contain malicious code.
""",
    """\
2023-06-02T14:44:09.694314Z  WARN download: text_generation_launcher: No safetensors weights found for model tiiuae/falcon-40b-instruct at revision None. Downloading PyTorch weights.
2025-05-20T16:08:59Z  INFO text_embeddings_router: Args { model_id: "nom", revision: None, tokenization_workers: None, dtype: None, pooling: None, max_concurrent_requests: 512, max_batch_tokens: 16384, max_batch_requests: None, max_client_batch_size: 32, auto_truncate: false, default_prompt_name: None, default_prompt: None, hf_api_token: None, hostname: "379cf6f93689", port: 80, uds_path: "/tmp/text-embeddings-inference-server", huggingface_hub_cache: Some("/data"), payload_limit: 2000000, api_key: None, json_output: false }
2025-09-08T00:38:24.444390Z  WARN text_embeddings_router: router/src/lib.rs:190: Could not find a Sentence Transformers config
(RayWorkerWrapper pid=291) kilo:291:1664 [1] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.
(RayWorkerWrapper pid=291) kilo:291:3517 [1] NCCL INFO Connected all rings, use ring PXN 0 GDR 1
(RayWorkerWrapper pid=291) kilo:291:291 [1] NCCL INFO ncclCommInitRank comm 0x26bafab0 rank 3 nranks 4 cudaDev 1 nvmlDev 1 busId 6000 commId 0x27da8d0f99f5ca84 - Init COMPLETE
""",
    """\
55933 [1] NCCL INFO NET/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory : when loading libnccl-net.so
55933 [1] NCCL INFO NET/OFI No eligible providers were found
55933 [1] NCCL INFO Allocated 5767524 bytes of shared memory in /dev/shm/nccl-ClyoFp
INFO 02-12 18:37:28 __init__.py:190] Automatically detected platform cuda.
INFO 05-14 02:41:31 config.py:549] This model supports multiple tasks: {'classify', 'embed', 'score', 'reward', 'generate'}. Defaulting to 'generate'.
WARNING 05-14 config.py:678] Async output processing is not supported on the current platform type cpu.
""",
    """\
INFO 05-14 config.py:542] Disabled the custom all-reduce kernel because it is not supported on current platform.
WARNING 01-01 [arg_utils.py:1658] Compute Capability < 8.0 is not supported by the V1 Engine. Falling back to V0.
INFO 01-01 [api_server.py] Supported_tasks: ['generate']
INFO:     169.254.178.2:34567 - "GET /ping HTTP/1.1" 503 Service Unavailable
"GET /health HTTP/1.1" 503
[W socket.cpp:663] [c10d] The client socket cannot be initialized to connect to [localhost]:29500 (errno: 97 - Address family not supported by protocol).
""",
    """\
/usr/local/lib/python3.12/dist-packages/vllm/connections.py:8: RuntimeWarning: Failed to read commit hash: No module named 'vllm._version'
INFO 11-21 importing.py:53] Triton module has been replaced with a placeholder.
INFO 11-21 [importing.py:17] Triton not installed or not compatible; certain GPU-related functions will not be available.
WARNING [awq.py] awq quantization is not fully optimized yet. The speed can be slower than non-quantized models.
INFO [gptq_marlin.py] The model is convertible to gptq_marlin during runtime. Using gptq_marlin kernel.
INFO 11-21 [awq_marlin.py:115] Detected that the model can run with awq_marlin, however you specified quantization=awq explicitly, so forcing awq. Use quantization=awq_marlin for faster inference
""",
    """\
Loading pipeline components...: 100%
The attention mask and the pad token id were not set. As a consequence, you may observe unexpected behavior.
INFO: Uvicorn running on http://0.0.0.0:8080 (Press CTRL+C to quit)
[INFO ] epollEventLoopGroup-3-1 ACCESS_LOG - /169.254.178.2:40000 "GET /models HTTP/1.1" 200 0
WARNING 04-24 10:00:00 [config.py:618] awq quantization is not fully optimized yet. The speed can be slower than non-quantized models.
INFO 04-24 [awq_marlin.py:116] The model is convertible to awq_marlin during runtime. Using awq_marlin kernel.
INFO 04-24 [gptq_marlin.py:143] Detected that the model can run with gptq_marlin, however you specified quantization=gptq explicitly, so forcing gptq. Use quantization=gptq_marlin for faster inference
WARNING 04-24 [interface.py:304] Using 'pin_memory=False' as WSL is detected. This may slow down the performance.
INFO 04-24 [cuda.py:229] Using Flash Attention backend on V1 engine.
INFO 04-24 selector.py:120] Cannot use FlashAttention-2 backend for Volta and Turing GPUs.
INFO 04-24 selector.py:33] Using XFormers backend.
INFO 04-24 [selector.py] Cannot use FlashAttention backend because the flash_attn package is not found. Please install it for better performance.
""",
    """\
WARNING 04-24 [topk_topp_sampler.py:69] FlashInfer is not available. Falling back to the PyTorch-native implementation of top-p & top-k sampling. For the best performance, please install FlashInfer.
INFO 04-24 [topk_topp_sampler.py:44] Currently, FlashInfer top-p & top-k sampling sampler is disabled because FlashInfer>=v0.2.3 is not backward compatible.
INFO 04-24 [config.py] Defaulting to use mp for distributed inference
INFO 04-24 [arg_utils.py] Chunked prefill is enabled by default for models with max_model_len > 32K.
WARNING 04-24 [arg_utils.py] The model has a long context length (131072). This may cause OOM errors during the initial memory profiling phase, or result in low performance due to small KV cache space. Consider setting --max-model-len to a smaller value.
INFO 04-24 gpu_executor.py:122] # GPU blocks: 27954, # CPU blocks: 2048
INFO 04-24 gpu_executor.py:126] Maximum concurrency for 8192 tokens per request: 54.60x
INFO 04-24 model_runner.py:1402] Capturing cudagraphs for decoding. This may lead to unexpected consequences if the model is not static. To run the model in eager mode, set 'enforce_eager=True' or use '--enforce-eager' in the CLI.
""",
    """\
INFO 04-24 model_runner.py:1406] If out-of-memory error occurs during cudagraph capture, consider decreasing `gpu_memory_utilization` or switching to eager mode. You can also reduce the `max_num_seqs` as needed to decrease memory usage.
INFO 04-24 [worker.py:267] Memory profiling takes 0.96 seconds
INFO 04-24 [worker.py:267] the current vLLM instance can use total_gpu_memory (22.18GiB) x gpu_memory_utilization (0.90) = 19.97GiB
INFO 04-24 [custom_cache_manager.py] Setting Triton cache manager to: vllm.triton_utils.custom_cache_manager:CustomCacheManager
WARNING 04-24 [scheduler.py:1754] Sequence group cmpl-1-0 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end performance. Increase gpu_memory_utilization or tensor_parallel_size to provide more KV cache memory. total_num_cumulative_preemption=1
INFO 04-24 [api_server.py:268] Started engine process with PID 85
INFO 04-24 [serving_chat.py:116] "auto" tool choice has been enabled please note that while the parallel_tool_calls client option is preset for compatibility reasons, it will be ignored.
WARNING 04-24 [protocol.py:71] The following fields were present in the request but ignored: {'foo'}
""",
    """\
WARNING 04-24 [tokenizer.py:251] No tokenizer found in /opt/ml/model/adapter, using base model tokenizer instead. (Exception: Can't load tokenizer)
INFO 04-24 [ray_utils.py] Ray is not installed. Falling back to multiprocessing.
WARNING 04-24 [cuda.py:97] To see benefits of async output processing, enable CUDA graph. Since, enforce-eager is enabled, async output processor cannot be used
INFO 04-24 [__init__.py:36] Available plugins for group vllm.general_plugins: - lora_filesystem_resolver
INFO 04-24 [backends.py:559] Directly load the compiled graph(s) for dynamic shape from the cache, took 5.5 s
WARNING 04-24 [multiproc_worker_utils.py:300] Reducing Torch parallelism from 24 threads to 1 to avoid unnecessary CPU contention. Set OMP_NUM_THREADS in the external environment to tune this value as needed.
INFO 04-24 [symm_mem.py:63] SymmMemCommunicator: Device capability 8.6 not supported, communicator is not available.
WARNING 04-24 [symm_mem.py:67] SymmMemCommunicator: Device capability 8.0 not supported, communicator is not available.
""",
    """\
INFO 04-24 [unquantized_fused_moe_method.py] FlashInfer CUTLASS MoE is available for EP but not enabled, consider setting VLLM_USE_FLASHINFER_MOE_FP16=1 to enable it.
WARNING 04-24 [fp8.py] DeepGEMM is only supported on Hopper and Blackwell, falling back
WARNING 04-24 [utils.py] Current platform cuda does not have '_pytree' attribute.
INFO 04-24 [llm_engine.py:237] Initializing a V0 LLM engine (v0.8.4) with config: model='/opt/ml/model', speculative_config=None, trust_remote_code=False, dtype=torch.float16, tensor_parallel_size=1, disable_custom_all_reduce=False, quantization=None
2024-05-01T10:00:00Z  WARN text_generation_router: Rust input length validation and truncation is disabled
2024-05-01T10:00:00Z  WARN text_generation_router: Model does not support automatic max batch total tokens
2024-05-01T10:00:00Z  WARN text_generation_router: Invalid hostname, defaulting to 0.0.0.0
2024-05-01T10:00:00Z  WARN text_generation_launcher: Bitsandbytes is deprecated, use `eetq` instead
""",
    """\
2024-05-01T10:00:00Z  INFO text_generation_launcher: Default `max_input_tokens` to 4095
2024-05-01T10:00:00Z  WARN tokenizers::tokenizer::serialization: /usr/local/cargo/registry/tokenizers: Warning: Token '<|reserved_special_token_0|>' was expected to have ID '128002' but was given ID 'None'
[2025-01-12] WARNING: Disable chunked prefill since it is not supported for this model
[2025-01-12] Attention backend not explicitly specified. Use flashinfer backend by default.
[2025-01-12] Prefill batch. #new-seq: 1, #new-token: 7, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0
[2025-01-12] Warning: Max running requests is reduced from 4096 to 2048
[2025-01-12 TP0] Using KV cache dtype: torch.bfloat16
[2025-01-12 TP0] KV Cache is allocated. #tokens: 106368, K size: 8.00 GB, V size: 8.00 GB
""",
    """\
[2025-01-12 TP0] max_total_num_tokens=106368, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=32768, available_gpu_mem=2.2 GB
[2025-01-12 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.7 -> 0.9
[INFO ] PyModel - Loading model in MPI mode with TP: 4.
[WARN ] PyProcess - W-100-model-stderr: Loading checkpoint shards: 100%|##########| 2/2 [00:06<00:00]
[INFO ] PyProcess - W-100-model-stderr: [1,0]<stderr>:INFO Using pre-compiled model
[WARN ] SageMakerUtils - No S3 url found
[WARN ] InferenceRequestHandler - Chunk reading interrupted
[INFO ] Platform - Found matching platform from: jar:file:/usr/local/djl-serving/lib/python.jar!/native/lib/python.properties
""",
    """\
[INFO ] Utils - Python not found on PATH, use bundled
[WARN ] CudaUtils - cudart library not found.
[WARN ] main com.amazonaws.ml.mms.ModelServer - No workers configured: default 1
llm_load_print_meta: vocab type = BPE
llama_new_context_with_model: n_ctx_per_seq (4096) < n_ctx_train (131072) -- the full capacity of the model will not be utilized
llm_load_vocab: special_eos_id is not in special_eog_ids - the tokenizer config may be incorrect
load: control-looking token: 128247 '</s>' was not control-type; this is probably a bug in the model. its type will be overridden
srv  update_slots: all slots are idle
""",
    """\
srv  log_server_r: request: GET /health 127.0.0.1 200
common_init_from_params: setting dry_penalty_last_n to ctx_size = 4096
warning: no usable GPU found, --gpu-layers option will be ignored
warning: one possible reason is that llama.cpp was compiled without GPU support
slot release: id  0 | task 0 | stop processing: n_past = 100, truncated = 0
2024-07-22 INFO text_embeddings_router: Maximum number of tokens per request: 512
2024-07-22 WARN text_embeddings_backend_candle: Using CPU instead
2024-07-22 INFO text_embeddings_core::download: `model.safetensors` not found. Downloading `pytorch_model.bin` instead. Consider using `safetensors`.
""",
    """\
2024-07-22 INFO download_artifacts: text_embeddings_core::download: Downloading `config_sentence_transformers.json`
UserWarning: The installed version of bitsandbytes was compiled without GPU support. 8-bit optimizers, 8-bit multiplication, and GPU quantization are unavailable.
UserWarning: TypedStorage is deprecated. It will be removed in the future
FutureWarning: `clean_up_tokenization_spaces` was not set. It will be set to `True` by default.
DeprecationWarning: pkg_resources is deprecated as an API.
None of PyTorch, TensorFlow >= 2.0, or Flax have been found. Models won't be available and only tokenizers, configuration and file/data utilities can be used.
Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file; Ignore above cudart dlerror if you do not have a GPU set up on your machine.
Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered
""",
    """\
TF-TRT Warning: Could not find TensorRT
[W1128 socket.cpp:464] [c10d] The hostname of the client socket cannot be retrieved. err=-3
[Gloo] Rank 1 is connected to 3 peer ranks. Expected number of connected peer ranks is : 3
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
Error in cpuinfo: prctl(PR_SVE_GET_VL) failed
compute:1:1 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.
compute:1:1 [0] NCCL INFO Failed to open libibverbs.so[.1]
compute:1:1 [0] nccl_net_ofi_init:1234 NCCL WARN NET/OFI aws-ofi-nccl initialization failed
""",
    """\
== CUDA == CUDA Version 12.4.1. This container image and its contents are governed by the NVIDIA Deep Learning Container License.
NOTE: The SHMEM allocation limit is set to the default of 64MB.  This may be insufficient for vLLM.  NVIDIA recommends the use of the following flags: docker run --gpus all --ipc=host --ulimit memlock=-1
nginx: [warn] duplicate MIME type "text/html"
[2024-05-01] "GET /ping HTTP/1.1" 200 0 "-" "AHC/2.0"
[INFO] CodeArtifact repository not specified. Skipping login.
Collecting sentencepiece==0.1.99
WARNING: Running pip as the 'root' user can result in broken permissions and conflicting behaviour with the system package manager.
WARNING: The directory '/root/.cache/pip' or its parent directory is not owned or is not writable by the current user. The cache has been disabled.
""",
    """\
2024-05-01 10:00:00.000000: INFO ||NEURON_CACHE||: Compile cache path: /var/tmp/neuron-compile-cache
[TensorRT-LLM][WARNING] Device 0 peer access Device 1 is not available.
[TensorRT-LLM][WARNING] Don't setup 'max_tokens_in_paged_kv_cache', use default
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 1018.55 MiB for execution context memory.
[TensorRT-LLM][INFO] Max KV cache pages per sequence: 128
I1128 10:00:00 server.cc:674] +------------------+------+ | Model | Version | Status | READY
WARNING 11-01 [registry.py] Model architecture DeepseekOCRForCausalLM is already registered, and will be overwritten
WARNING 11-01 [model.py] Your device 'Tesla T4' (with compute capability 7.5) doesn't support torch.bfloat16. Falling back to torch.float16 for compatibility.
""",
    """\
INFO 11-01 [model.py] Resolved `--runner auto` to `--runner generate`. Pass the value explicitly to silence this message.
WARNING 11-01 [marlin.py] You are running Marlin kernel with bf16 on GPUs before SM90. You can consider change to fp16 to achieve better performance if possible.
(APIServer pid=1) INFO:     172.17.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK
(EngineCore_DP0 pid=2) INFO 11-01 [gpu_model_runner.py:1] Encoder cache will be initialized with a budget of 16384 tokens, and profiled with 1 image items of the maximum feature size.
(EngineCore_DP0 pid=2) 2025-11-01 - INFO - autotuner.py:256 - flashinfer.jit: [Autotuner]: Autotuning process starts ...
(EngineCore_DP0 pid=2) 2025-11-01 - WARNING - autotuner.py:485 - flashinfer.jit: [Autotuner]: Failed to profile runner=<MoERunner>, tactic=13. Skipped.
Warning: You are sending unauthenticated requests to the HF Hub. Please set a HF_TOKEN to enable higher rate limits and faster downloads.
Repo card metadata block was not found. Setting CardData to empty.
""",
    """\
Error while downloading from https://cdn-lfs.huggingface.co/x: HTTPSConnectionPool(host='cdn-lfs.huggingface.co', port=443): Read timed out. Trying to resume download...
2103:2103 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or directory No plugin found (libnccl-net.so), using internal implementation
2103:2103 [0] NCCL INFO RAS failed to establish a client listening socket at localhost:28028
291:291 [1] NCCL INFO Init timings - ncclCommInitRank: rank 3 nranks 4 total 0.15 (kernels 0.00, alloc 0.00, bootstrap 0.00)
DEBUG 04-16 00:55:49 [__init__.py:44] TPU platform is not available because: No module named 'libtpu'
WARNING 07-23 19:51:25 [arg_utils.py:1735] ['WhisperForConditionalGeneration'] is not supported by the V1 Engine. Falling back to V0.
INFO 11-21 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work.
[W1128 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=84, addr=[localhost]:51292, remote=[localhost]:42531): Connection reset by peer
""",
    """\
[W socket.cpp:426] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 97 - Address family not supported by protocol).
1:12 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.7.4-aws
INFO:     127.0.0.1:0 - "GET /metrics HTTP/1.1" 404 Not Found
INFO:     10.0.0.1:1 - "GET / HTTP/1.1" 404 Not Found
HF_HUB_OFFLINE=1 HF_TASK=text-generation HF_HUB_ENABLE_HF_TRANSFER=1
model.neff not found in aws-neuron/optimum-neuron-cache: the corresponding graph will be recompiled. This may take up to one hour for large models.
""",
)


@pytest.mark.parametrize("log", HEALTHY, ids=range(len(HEALTHY)))
def test_nothing_is_claimed_of_a_healthy_log(log: str) -> None:
    """
    Neither of one that runs nor of one that starts.
    """
    lines = tuple(log.splitlines())

    for runs in (True, False):
        passage = Passage(kind="log", where="log", lines=lines, runs=runs)
        assert causes_in([passage]) == []
