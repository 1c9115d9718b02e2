"""What a page may send to the demo: the fields of each message, their types and their limits.

Anything else is refused before viser sees it. The classes are named as those of viser, whose page sends them; a test
compares their fields with viser's.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import msgspec

__all__ = [
    "MOST_MESSAGE_BYTES", "FileTransferPart", "FileTransferStartUpload", "RefusedError", "read_message",
    "write_message",
]  # fmt: skip

MOST_MESSAGE_BYTES = 1 << 20
"""The page sends files in parts of 512 KiB; every other message is below 1 KiB."""
_MOST_PARTS = 1024
_FAR = 1e9  # greatest coordinate, in units of the picture, whose longest side is 10

Name = Annotated[str, msgspec.Meta(max_length=256)]
Number = Annotated[float, msgspec.Meta(ge=-_FAR, le=_FAR)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=_FAR)]
Pixels = Annotated[float, msgspec.Meta(ge=1, le=1 << 16)]
Place = tuple[Number, Number, Number]
Rotation = tuple[Number, Number, Number, Number]
Whole = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=1 << 31)]


class RefusedError(ValueError):
    """A message that no page of the demo sends."""


class _Message(msgspec.Struct, tag_field="type", tag=True, forbid_unknown_fields=True):
    pass


class ViewerCameraMessage(_Message):
    """Where the camera of a page is."""

    wxyz: Rotation
    position: Place
    fov: Annotated[float, msgspec.Meta(gt=1e-3, lt=math.pi)]
    near: Positive
    far: Positive
    image_height: Pixels
    image_width: Pixels
    look_at: Place
    up_direction: Place

    def check(self) -> None:
        """Refuse cameras that look nowhere."""
        if math.dist(self.position, self.look_at) < 1e-9 or math.hypot(*self.up_direction) < 1e-9:
            raise RefusedError("a camera without a direction")
        if abs(math.hypot(*self.wxyz) - 1) > 0.01:
            raise RefusedError("a camera without a rotation")


class ScenePointerMessage(_Message):
    """A click or a dragged rectangle."""

    event_type: Literal["click", "rect-select"]
    ray_origin: Place | None
    ray_direction: Place | None
    screen_pos: Annotated[list[tuple[Number, Number]], msgspec.Meta(min_length=1, max_length=2)]
    modifier: Name | None

    def check(self) -> None:
        """Refuse clicks without a ray and rectangles without two corners."""
        if self.event_type == "click":
            if self.ray_origin is None or self.ray_direction is None or math.hypot(*self.ray_direction) < 1e-9:
                raise RefusedError("a click without a ray")
        elif len(self.screen_pos) != 2:
            raise RefusedError("a rectangle without two corners")


class SceneNodeDragMessage(_Message):
    """A body that a hand has taken."""

    phase: Literal["start", "update", "end"]
    name: Name
    instance_index: Annotated[int, msgspec.Meta(ge=0, le=1 << 31)] | None
    start_position: Place
    start_screen_pos: tuple[Number, Number]
    end_position: Place
    end_screen_pos: tuple[Number, Number]
    button: Literal["left", "middle", "right"]
    modifier: Name | None
    owner: Name = ""


class TransformControlsUpdateMessage(_Message):
    """The dragged query."""

    name: Name
    wxyz: Rotation
    position: Place
    owner: Name = ""


class TransformControlsDragStartMessage(_Message):
    """The query is about to be dragged."""

    name: Name
    owner: Name = ""


class TransformControlsDragEndMessage(_Message):
    """The query is no longer dragged."""

    name: Name
    owner: Name = ""


class GuiUpdateMessage(_Message):
    """A control of the panel has another value; `Controls.repair` checks it against the limits of the control."""

    uuid: Name
    updates: dict[Literal["value"], bool | Whole | Number | Name]


class CommandTriggerMessage(_Message):
    """A key that a command has was pressed."""

    uuid: Name


class FileTransferStartUpload(_Message):
    """A file is about to be sent."""

    source_component_uuid: Name
    transfer_uuid: Name
    filename: Name
    mime_type: Name
    part_count: Annotated[int, msgspec.Meta(ge=0, le=_MOST_PARTS)]
    size_bytes: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class FileTransferPart(_Message):
    """A part of a file."""

    source_component_uuid: Name | None
    transfer_uuid: Name
    part_index: Annotated[int, msgspec.Meta(ge=0, le=_MOST_PARTS)]
    content: bytes


class _Any(msgspec.Struct):
    type: str


_KNOWN = {one.__name__: one for one in _Message.__subclasses__()}
_any = msgspec.msgpack.Decoder(_Any)
_decoders: dict[str, Any] = {name: msgspec.msgpack.Decoder(one) for name, one in _KNOWN.items()}
_encoder = msgspec.msgpack.Encoder()


def read_message(frame: str | bytes) -> Any:
    """Read one message of a page; None if it is of a type that the demo has no use for.

    Raises RefusedError if it is not a message, or a field is missing, unknown, of another type or beyond its limits.
    """
    if not isinstance(frame, bytes):
        raise RefusedError("a text")
    try:
        decoder = _decoders.get(_any.decode(frame).type)
        if decoder is None:
            return None
        message = decoder.decode(frame)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, OverflowError) as error:
        raise RefusedError(str(error)[:200]) from error
    check = getattr(message, "check", None)
    if check is not None:
        check()
    return message


def write_message(message: Any) -> bytes:
    """Write a message that was read: what viser gets is what was checked, even if a field was there twice."""
    return _encoder.encode(message)
