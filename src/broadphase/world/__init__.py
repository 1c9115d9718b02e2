"""Worlds: bodies that move, and what happens when they touch."""
