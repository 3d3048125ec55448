"""The state of each model: circuit breaker, cooldown, latency, concurrency."""
