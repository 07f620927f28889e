# SPDX-License-Identifier: GPL-2.0-only
"""Writes, parses, searches and compresses a text in a loop."""
import json
import re
import zlib

while True:
    rows = [{"id": i, "name": f"row {i}", "tags": [str(i % 7), "x" * (i % 31)]} for i in range(3000)]
    text = json.dumps(rows)
    json.loads(text)
    re.findall(r'"name": "row (\d+)"', text)
    zlib.compress(text.encode())
