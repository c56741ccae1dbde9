"""
A server that answers once, says why it ends, and ends.
"""

from __future__ import annotations

import argparse
import socket
import sys


def main() -> None:
    """
    Answer one request on the socket that was handed over.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int)
    options, _ = parser.parse_known_args()
    with socket.socket(fileno=options.fd) as listener:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nok")
    sys.stderr.write("out of memory\n")
    sys.exit(3)


if __name__ == "__main__":
    main()
