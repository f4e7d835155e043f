"""What runs with servers moved, in the words that extensions tell it and the report shows it."""

from collections.abc import Mapping

# The parts of a byte's way between servers and client, and what their disks are asked for.
LINK, BRIDGE, END, LOOPBACK, OTHERS = PARTS = (
    "link", "bridge", "container's end", "loopback", "others",
)  # fmt: skip
RECEIVED, SENT = WAYS = ("received", "sent")
DISK = ("disk_read_requests", "disk_written_requests", "disk_read_bytes", "disk_written_bytes")


def of_way(moved: Mapping[str, float], way: str) -> dict[str, float]:
    """Bytes of one of `WAYS` by part; parts without any interface are left out."""
    return {part: moved[f"{way} {part}"] for part in PARTS if f"{way} {part}" in moved}


def both_ways(moved: Mapping[str, float]) -> dict[str, float]:
    """Bytes received and sent together, by part."""
    sent = of_way(moved, SENT)
    return {part: received + sent[part] for part, received in of_way(moved, RECEIVED).items()}
