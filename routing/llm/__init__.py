"""Calls to models: the LiteLLM adapter (the only importer of litellm), local models, one attempt."""
