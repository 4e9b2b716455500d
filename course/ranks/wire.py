"""Frames on a stream socket: one byte of kind, four of length, then the body."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

_HEADER = struct.Struct("!cI")

# from the caller to a rank, relayed by the keeper
JOB = b"J"
# from a rank to its keeper
STARTED = b"S"
PRINT = b"P"
CALL = b"C"
CALL_END = b"E"
RETURNED = b"R"
VALUE = b"V"
EXCEPTION = b"X"
EXIT = b"Q"
# from the keeper to the caller
OUTCOME = b"O"


class FrameTooLarge(ValueError):
    """A frame announces more bytes than its receiver takes."""


class ConnectionEnded(ConnectionError):
    """The other side closed the socket before the frame was complete."""


def frame(kind: bytes, body: bytes) -> bytes:
    return _HEADER.pack(kind, len(body)) + body


def send(sock: socket.socket, kind: bytes, body: bytes) -> None:
    sock.sendall(frame(kind, body))


def receive(sock: socket.socket) -> tuple[bytes, bytes]:
    """The next frame's kind and body; waits for it.

    Raises:
        ConnectionEnded: the stream ended first.
    """
    kind, length = _HEADER.unpack(_exactly(sock, _HEADER.size))
    return kind, bytes(_exactly(sock, length))


def _exactly(sock: socket.socket, length: int) -> bytearray:
    data = bytearray(length)
    view = memoryview(data)
    got = 0
    while got < length:
        count = sock.recv_into(view[got:])
        if count == 0:
            raise ConnectionEnded("the connection ended in the middle of a frame")
        got += count
    return data


class FrameBuffer:
    """Frames out of a stream that arrives in pieces."""

    def __init__(self, limit: int) -> None:
        self._data = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Each frame that is complete now, as (kind, body).

        Raises:
            FrameTooLarge: the next frame would be larger than the limit.
        """
        self._data += data
        while len(self._data) >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._data)
            if length > self._limit:
                raise FrameTooLarge(f"a frame of {length:,} bytes; at most {self._limit:,}")
            end = _HEADER.size + length
            if len(self._data) < end:
                return
            body = bytes(self._data[_HEADER.size : end])
            del self._data[:end]
            yield kind, body
