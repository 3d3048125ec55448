"""One turn: its plan, its prompt, the loop of model and tools."""
