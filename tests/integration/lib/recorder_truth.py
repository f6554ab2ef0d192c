"""What recorded_host itself says of its live blocks, by site."""
import struct

SITES = ["small", "middle", "huge", "zeroed", "chain", "array", "posix",
         "aligned", "by_align", "by_page"]
LARGEST = [200, 9000, 3 << 20, 603, 20000, 800, 5000, 900, 3000, 6000]


def read_truth(path):
    """The code of each site, and its live objects and bytes."""
    with open(path, "rb") as f:
        data = f.read()
    numbers = struct.unpack(f"<{len(data) // 8}q", data)
    count = len(SITES)
    code = [numbers[2 * i:2 * i + 2] for i in range(count)]
    live = numbers[2 * count:]
    return code, [
        (sum(live[2 * i::2 * count]), sum(live[2 * i + 1::2 * count]))
        for i in range(count)]
