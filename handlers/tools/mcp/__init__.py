"""Tools over the Model Context Protocol: a client for the servers in mcp.json, and our own server.

Only this package uses the SDK, which takes a second to import: import `session` and `server` where they are needed.
"""
