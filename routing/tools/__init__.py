"""Which tools a model gets to see: keywords first, embeddings second, presented by the size of the model."""
