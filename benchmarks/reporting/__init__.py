"""Tables, pictures and intervals of the figures."""
