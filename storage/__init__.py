"""SQLAlchemy behind the ports of `routing.ports`: one short transaction a step, never open across a model call."""
