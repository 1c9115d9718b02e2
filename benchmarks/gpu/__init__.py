"""What `broadphase.gpu` gives and takes on a device: exactness first, then times beside others, then each stage.

python -m benchmarks.gpu --device                 # six minutes on a card
python -m benchmarks.gpu --device cpu --quick     # the same program without one, in small
python -m benchmarks.gpu.carry                    # takes Warp to a machine without a network
"""
