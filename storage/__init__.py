"""SQLAlchemy implementations of `routing.ports`. Each operation is one short transaction, never held open during a
model call."""
