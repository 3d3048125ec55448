"""Where the vectors of texts come from: the shipped encoder, a worker process, or a provider."""
