"""import_flood.py SOCKET EXPORT - imports that would take gigabytes, eight at a
time; prints the codes of their errors, each with how often it came."""
import collections
import struct
import sys
import threading
import zlib

import pymysql

CLIENTS, ROUNDS = 8, 3


def bomb(export, texts):
    """A file of heapwire's with that head, and a body of empty texts: each
    byte of it is 24 in memory, and a thousandth of one in the file."""
    size = struct.unpack_from("<I", export, 12)[0]
    body = b"\xfe" + struct.pack("<Q", texts) + bytes(texts)
    packed = zlib.compress(body, 9)
    head = bytearray(export[:size - 4])
    struct.pack_into("<QQI", head, 16, len(packed), len(body),
                     zlib.crc32(packed))
    return bytes(head) + struct.pack("<I", zlib.crc32(head)) + packed


def raw():
    """A profile whose every address is another."""
    lines = ["heap_v2/524288"]
    for i in range(100000):
        lines.append("@" + "".join(" 0x%x" % (1 << 20 | i * 12 + k)
                                   for k in range(12)))
        lines.append("  t*: 1: 100 [0: 0]")
    return "\n".join(lines + ["MAPPED_LIBRARIES:",
                              "100000-8000000 r-xp 0 8:1 7 /a/b\n"]).encode()


def main():
    with open(sys.argv[2], "rb") as file:
        export = file.read()
    files = [bomb(export, 220 << 20), bomb(export, 40 << 20),
             bomb(export, 9 << 20), raw()]
    codes = collections.Counter()

    def flood(client):
        connection = pymysql.connect(unix_socket=sys.argv[1], user="root",
                                     max_allowed_packet=1 << 24,
                                     read_timeout=120)
        for turn in range(ROUNDS):
            name = f"flood_{client}_{turn}"
            try:
                connection.cursor().execute(
                    "CALL heapwire.import_snapshot(%s, %s)",
                    (name, files[(client + turn) % len(files)]))
                code = 0
                connection.cursor().execute(
                    "ADMIN EXECUTE ON 10001 'HeapProf.getInstance()."
                    f"delete(\"{name}\")'")
            except pymysql.err.MySQLError as error:
                code = error.args[0]
            codes[code] += 1

    threads = [threading.Thread(target=flood, args=(client,))
               for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(" ".join(f"{code}:{codes[code]}" for code in sorted(codes)))


if __name__ == "__main__":
    main()
