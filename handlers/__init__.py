"""What can be asked: one inbound message in, replies out."""
