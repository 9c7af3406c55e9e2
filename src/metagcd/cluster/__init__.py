"""Clusters of features."""
