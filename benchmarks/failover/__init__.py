"""What failover costs a healthy turn, and what it makes of many turns at once of which many meet a fault."""
