"""Several models answer one question, rank each other, and one of the strongest writes the final answer."""
