"""Scores from class ids and truth."""
