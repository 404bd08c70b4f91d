"""Diagnostics to text, one format a file."""
