"""What turns used and cost: single rows, hourly sums of them, ratings, and limits per person."""
