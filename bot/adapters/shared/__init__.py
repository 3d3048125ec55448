"""What every chat platform needs: streamed previews, connection backoff, per-chat queues, rules for failed calls."""
