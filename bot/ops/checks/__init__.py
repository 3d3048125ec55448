"""The doctor's checks, one module per subject. Each is a coroutine from an Inspection to findings and changes
nothing."""
