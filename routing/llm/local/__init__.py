"""Local models that need no API key: llama.cpp in a child process, started on first use and stopped when idle."""
