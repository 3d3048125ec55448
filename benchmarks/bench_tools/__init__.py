"""Cost and recall of each way to show eighty tools, and the limits of tool selection."""
