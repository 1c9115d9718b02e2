"""Record what happens in a world: files for the Rerun viewer, and pages that replay a run in any browser."""

from broadphase.recording.replay import Replay, save_replay
from broadphase.recording.rerun_file import Recording, record

__all__ = ["Recording", "Replay", "record", "save_replay"]
