"""Tests of the pages at ADMIN_ADDRESS."""
