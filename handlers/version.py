"""The version, without querying package metadata at run time."""

VERSION = "0.1.0"
