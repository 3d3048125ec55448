"""The zero-key local model: llama.cpp in a child process, started at the first need and stopped when idle."""
