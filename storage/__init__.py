"""SQLAlchemy behind the ports of `routing.stores`: one short transaction a step, never open across a model call."""
