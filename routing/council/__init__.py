"""Several models answer one question and rank each other; one of the strongest writes the final answer."""
