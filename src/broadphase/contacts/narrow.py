import numpy as np
from broadphase import _native


def overlap_mask(a, b, f, s, offsets=None):
    return _native.shape_overlaps(a.store, b.store, f, s, offsets) == 1


def contacts_of(a, b, f, s, offsets=None):
    return _native.shape_contacts(a.store, b.store, f, s, offsets)
