"""What people see of tools: the list, what a message would get, policies and status."""
