"""Pure decisions: tier, model, failover, escalation."""
