#!/usr/bin/env python3
"""addresses_zstd.py IN OUT - an ELF file's debug sections compressed by zstd.

As `objcopy --compress-debug-sections=zstd` does where it was built with zstd:
SHF_COMPRESSED, an Elf64_Chdr and one frame (gABI, "Section Compression").
"""
import ctypes
import struct
import sys

SHF_COMPRESSED, ELFCOMPRESS_ZSTD = 0x800, 2
HEADER = struct.Struct("<IIQQQQIIQQ")

zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_compressBound.restype = ctypes.c_size_t
zstd.ZSTD_compress.restype = ctypes.c_size_t
zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
zstd.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t,
                               ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]


def compress(data):
    room = ctypes.create_string_buffer(zstd.ZSTD_compressBound(len(data)))
    size = zstd.ZSTD_compress(room, len(room), data, len(data), 3)
    assert size <= len(room), "zstd failed"
    return room.raw[:size]


def main():
    elf = bytearray(open(sys.argv[1], "rb").read())
    table, = struct.unpack_from("<Q", elf, 0x28)
    _, count, names = struct.unpack_from("<HHH", elf, 0x3a)
    texts = HEADER.unpack_from(elf, table + names * HEADER.size)[4]
    for i in range(count):
        at = table + i * HEADER.size
        head = list(HEADER.unpack_from(elf, at))
        name = elf[texts + head[0]:].split(b"\0", 1)[0]
        if not name.startswith(b".debug_") or head[2] & SHF_COMPRESSED:
            continue
        data = bytes(elf[head[4]:head[4] + head[5]])
        elf[head[4]:head[4] + head[5]] = bytes(len(data))
        packed = struct.pack("<IIQQ", ELFCOMPRESS_ZSTD, 0, len(data),
                             head[8]) + compress(data)
        head[2] |= SHF_COMPRESSED
        elf += bytes(-len(elf) % 8)
        head[4], head[5], head[8] = len(elf), len(packed), 8
        elf += packed
        HEADER.pack_into(elf, at, *head)
    open(sys.argv[2], "wb").write(elf)


main()
