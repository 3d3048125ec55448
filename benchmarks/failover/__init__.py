"""The cost of failover in a healthy turn, and its results for many concurrent turns with faults."""
