"""Just enough H.264 for a still picture that lasts: one raw frame, then frames that say "no change".

Syntax of ITU-T H.264 sections 7.3.2 to 7.3.5. Baseline profile; ffmpeg decodes it without complaint.
"""

import re

#: Macroblocks are 16 by 16 pixels.
_BLOCK = 16


class _Bits:
    """A bit string under construction."""

    def __init__(self) -> None:
        self._text: list[str] = []

    def fixed(self, value: int, width: int) -> "_Bits":
        self._text.append(format(value, f"0{width}b"))
        return self

    def golomb(self, *values: int) -> "_Bits":
        """Unsigned Exp-Golomb codes, ue(v)."""
        for value in values:
            binary = format(value + 1, "b")
            self._text.append("0" * (len(binary) - 1) + binary)
        return self

    def aligned(self) -> bytes:
        text = "".join(self._text)
        text += "0" * (-len(text) % 8)
        return int(text, 2).to_bytes(len(text) // 8, "big")

    def ended(self) -> bytes:
        """With the stop bit."""
        self.fixed(1, 1)
        return self.aligned()


def _unit(header: int, payload: bytes) -> bytes:
    """A NAL unit: three-byte start codes inside the payload are broken up."""
    return bytes([header]) + re.sub(rb"\x00\x00(?=[\x00-\x03])", b"\x00\x00\x03", payload)


def _blocks(width: int, height: int) -> tuple[int, int]:
    return -(-width // _BLOCK), -(-height // _BLOCK)


def parameter_sets(width: int, height: int) -> tuple[bytes, bytes]:
    """Sequence and picture parameter sets; width and height in pixels, both even."""
    columns, rows = _blocks(width, height)
    sequence = _Bits().fixed(66, 8).fixed(0b11000000, 8).fixed(40, 8)
    sequence.golomb(0, 0, 2, 1).fixed(0, 1)  # id, frame_num of 4 bits, order = decoding order, 1 reference
    sequence.golomb(columns - 1, rows - 1).fixed(0b111, 3)  # frames only, direct 8x8, cropping follows
    sequence.golomb(0, (columns * _BLOCK - width) // 2, 0, (rows * _BLOCK - height) // 2).fixed(0, 1)
    picture = _Bits().golomb(0, 0).fixed(0, 2).golomb(0, 0, 0).fixed(0, 3).golomb(0, 0, 0).fixed(0b100, 3)
    return _unit(0x67, sequence.ended()), _unit(0x68, picture.ended())


def raw_frame(width: int, height: int) -> bytes:
    """The first frame: every macroblock's samples as they are (I_PCM), coloured as a slow gradient."""
    columns, rows = _blocks(width, height)
    header = _Bits().golomb(0, 7, 0).fixed(0, 4).golomb(0).fixed(0, 2).golomb(0, 1)
    body = bytearray(header.golomb(25).aligned())
    for block in range(columns * rows):
        row, column = divmod(block, columns)
        if block:
            body += b"\x0d\x00"  # ue(25) and the zero bits up to the next byte
        body += bytes([60 + 140 * row // rows]) * 256
        body += bytes([90 + 80 * column // columns]) * 64 + bytes([170 - 80 * row // rows]) * 64
    return _unit(0x65, bytes(body) + b"\x80")


def unchanged_frame(width: int, height: int, number: int) -> bytes:
    """Frame `number` of the film: all macroblocks skipped, so the picture stands."""
    columns, rows = _blocks(width, height)
    header = _Bits().golomb(0, 5, 0).fixed(number % 16, 4).fixed(0, 3).golomb(0, 1)
    return _unit(0x41, header.golomb(columns * rows).ended())
