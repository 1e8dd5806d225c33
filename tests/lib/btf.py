# SPDX-License-Identifier: GPL-2.0-or-later
"""Offsets of members in raw BTF, read without any code of hvtrace."""

import struct

ARRAY, STRUCT, UNION, TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG = 3, 4, 5, 8, 9, 10, 11, 18
EXTRA = {1: (4, 0), 3: (12, 0), 4: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8), 14: (4, 0), 15: (0, 12), 17: (4, 0), 19: (0, 12)}


class Btf:
    def __init__(self, data):
        (header,) = struct.unpack_from("<I", data, 4)
        types, types_len, strings, strings_len = struct.unpack_from("<IIII", data, 8)
        self.strings = data[header + strings :][:strings_len]
        self.types = [None]  # (kind, name, size or type, members)
        self.compounds = {}
        self.values = {}
        at, end = header + types, header + types + types_len
        while at < end:
            name, info, size = struct.unpack_from("<III", data, at)
            kind, nr = info >> 24 & 31, info & 0xFFFF
            fixed, each = EXTRA.get(kind, (0, 0))
            body = data[at + 12 :][: fixed + nr * each]
            if kind == ARRAY:
                members = struct.unpack("<III", body)
            elif kind in (STRUCT, UNION):
                members = [struct.unpack_from("<III", body, i * 12) for i in range(nr)]
                members = [(self._text(m), t, off & 0xFFFFFF if info >> 31 else off) for m, t, off in members]
                self.compounds.setdefault(self._text(name), []).append(len(self.types))
            else:
                members = None
                if kind == 6:
                    for i in range(nr):
                        value, number = struct.unpack_from("<Ii", body, i * 8)
                        self.values.setdefault(self._text(value), number)
            self.types.append((kind, self._text(name), size, members))
            at += 12 + fixed + nr * each

    def _text(self, off):
        return self.strings[off : self.strings.index(b"\0", off)].decode()

    def _compound(self, number):
        """Returns the members of the structure or union NUMBER, also through typedefs, qualifiers and arrays, or None."""
        while number:
            kind, _name, to, members = self.types[number]
            if kind in (STRUCT, UNION):
                return members
            if kind == ARRAY:
                number = members[0]
            elif kind in (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG):
                number = to
            else:
                return None
        return None

    def _find(self, members, name):
        for member, number, bits in members or ():
            if member == name:
                return bits, number
            if not member:
                found = self._find(self._compound(number), name)
                if found:
                    return bits + found[0], found[1]
        return None

    def offset(self, path):
        """Returns the offset in bytes of STRUCT.MEMBER[.MEMBER...], or None."""
        name, *parts = path.split(".")
        for number in self.compounds.get(name, ()):
            bits, members = 0, self._compound(number)
            for part in parts:
                found = self._find(members, part)
                if not found:
                    break
                bits, members = bits + found[0], self._compound(found[1])
            else:
                return bits // 8
        return None
