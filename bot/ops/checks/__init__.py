"""What `doctor` looks at: one module a subject, each a coroutine from an Inspection to findings. Nothing is changed."""
