"""Values that travel between packages: frozen, slotted, without I/O. A decision carries its reason."""
