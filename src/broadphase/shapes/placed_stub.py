class Shapes:
    @classmethod
    def _around(cls, store, geometries, dimension, boxes, positions, rotations):
        s = cls()
        s.store, s.geometries, s.dimension, s.boxes = store, geometries, dimension, boxes
        return s
