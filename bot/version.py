"""The version, without asking the packaging tools at run time."""

VERSION = "0.1.0"
