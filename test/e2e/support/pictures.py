# SPDX-License-Identifier: Apache-2.0
"""Pictures for uploads."""
import struct
import zlib


def png(width: int, height: int, noise: bytes = b"") -> bytes:
    """A picture; `noise` comes along in a chunk of its own, to make it as large as wanted."""
    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([200, y % 256, 99]) * width for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + (part(b"noIs", noise) if noise else b"") + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))
