"""Continual generalised category discovery."""
