"""The narrow phase: which shapes touch, where, how far apart they are, and when they meet."""
