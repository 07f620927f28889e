# SPDX-License-Identifier: GPL-2.0-only
"""Writes, reads, searches and packs a text, over and over."""
import json
import re
import zlib

while True:
    rows = [{"id": i, "name": f"row {i}", "tags": [str(i % 7), "x" * (i % 31)]} for i in range(3000)]
    text = json.dumps(rows)
    json.loads(text)
    re.findall(r'"name": "row (\d+)"', text)
    zlib.compress(text.encode())
