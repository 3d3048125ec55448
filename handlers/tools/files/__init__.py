"""A person's folder: its quota, the text of documents, the tools for files, and the folder shared with the machine."""
