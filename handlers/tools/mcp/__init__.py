"""Tools over the Model Context Protocol: other people's servers, and ours.

Only this package knows the SDK, which takes a second to import: import `session` and `server` when they are needed.
"""
