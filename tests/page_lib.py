# ctest: helper
"""Reads the data in a page by docs/page-data.md alone."""

import base64
import html.parser
import json
import math
import struct
import zlib


class Elements(html.parser.HTMLParser):
    """All tags, and the text of the elements that hold data."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags = []
        self.data = []  # (kind, text)
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        kind = dict(attrs).get("data-lamella")
        self.inside = tag == "script" and kind is not None
        if self.inside:
            self.data.append((kind, ""))

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            kind, text = self.data[-1]
            self.data[-1] = (kind, text + data)


def unzigzag(number):
    return (number >> 1) ^ -(number & 1)


class Recording:
    def __init__(self, text):
        packed = base64.b64decode(text, validate=True)
        whole = zlib.decompress(packed)
        (size,) = struct.unpack_from("<I", whole)
        self.packed_bytes = len(packed)
        self.header = json.loads(whole[4 : 4 + size].decode("utf-8"))
        self.sections = whole[4 + size :]
        assert self.header["format"] == "lamella-page" and self.header["version"] == 1
        self.strings = self.read_strings()

    def read_strings(self):
        about = self.header["strings"]
        place = about["bytes"]
        units = self.sections[place["at"] : place["at"] + place["bytes"]].decode("utf-8").encode("utf-16-le")
        strings, at = [], 0
        for length in self.numbers(about["lengths"], about["count"]):
            strings.append(units[at : at + 2 * length].decode("utf-16-le"))
            at += 2 * length
        assert at == len(units)
        return strings

    def raw(self, column, rows):
        code = column["code"]
        if code == "const":
            return [column["value"]] * rows
        part = self.sections[column["at"] : column["at"] + column["bytes"]]
        if code == "planes":
            width = column["width"]
            assert len(part) == rows * width
            return [sum(part[p * rows + i] << 8 * p for p in range(width)) for i in range(rows)]
        assert code == "varint"
        numbers, number, shift = [], 0, 0
        for byte in part:
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                numbers.append(number)
                number, shift = 0, 0
        assert len(numbers) == rows and shift == 0
        return numbers

    def numbers(self, column, rows, table=None):
        """The whole numbers of a column, before `per`."""
        if column["code"] == "sum":
            lists = [[term["times"]] + self.numbers(table[term["column"]], rows, table) for term in column["terms"]]
            sums = [None if None in row else sum(l[0] * v for l, v in zip(lists, row)) for row in zip(*(l[1:] for l in lists))]
            return [None if value is None else max(value, column["min"]) for value in sums]
        values = self.raw(column, rows)
        if column.get("delta"):
            at = 0
            for i, value in enumerate(values):
                at += unzigzag(value)
                values[i] = at
        if column.get("null"):
            values = [value - 1 if value else None for value in values]
        if column.get("signed"):
            values = [unzigzag(value) if value is not None else None for value in values]
        if column.get("plus"):
            plus = column["plus"]
            other = self.numbers(table[plus["column"]], rows, table)
            values = [v if v is None or o is None else v + plus["times"] * o for v, o in zip(values, other)]
        return values

    def reals(self, column, rows):
        part = self.sections[column["at"] : column["at"] + column["bytes"]]
        values = [struct.unpack("<d", bytes(part[p * rows + i] for p in range(8)))[0] for i in range(rows)]
        return [None if math.isnan(value) else value for value in values]

    def rows(self, table):
        return self.header["tables"].get(table, {"rows": 0})["rows"]

    def column(self, table, name):
        about = self.header["tables"][table]
        column, rows = about["columns"][name], about["rows"]
        if column["code"] == "real":
            return self.reals(column, rows)
        values = self.numbers(column, rows, about["columns"])
        if column["type"] == "text":
            return [None if value is None else self.strings[value] for value in values]
        if column["type"] == "bool":
            return [None if value is None else bool(value) for value in values]
        if column.get("per"):
            return [None if value is None else value / column["per"] for value in values]
        return values

    def table(self, name):
        """A list of dicts."""
        if name not in self.header["tables"]:
            return []
        columns = self.header["tables"][name]["columns"]
        lists = [self.column(name, column) for column in columns]
        return [dict(zip(columns, row)) for row in zip(*lists)]


class Page:
    def __init__(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            self.text = file.read()
        self.elements = Elements(self.text)
        self.recordings = [Recording(text) for kind, text in self.elements.data if kind == "recording"]
        self.comparisons = [json.loads(zlib.decompress(base64.b64decode(text))) for kind, text in self.elements.data if kind == "comparison"]
