"""Encoders, one file each."""
