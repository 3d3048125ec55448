"""What each way to show eighty tools costs and finds, and the limits that selection keeps."""
