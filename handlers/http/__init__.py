"""HTTP requests with limits, and a guard for addresses that come from people, models or pages."""
