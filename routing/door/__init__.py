"""Behind the door to the models: what goes to LiteLLM, what comes back, and what its errors mean."""
