"""Things in a world: shapes that move, and what happens when they touch."""
