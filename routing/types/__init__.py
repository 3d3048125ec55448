"""Values shared by all packages: frozen, without I/O. A decision carries its reason."""
