"""Encoders, heads, stored features."""
