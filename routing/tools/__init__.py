"""Which tools a model sees: keywords first, embeddings second, presented by model size."""
