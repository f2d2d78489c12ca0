# SPDX-License-Identifier: MIT
import json

total = 0
for turn in range(40):
    rows = [{"id": i, "name": "row-%d" % i, "tags": [str(j) for j in range(i % 7)]} for i in range(1500)]
    text = json.dumps(rows)
    total += len(json.loads(text)) + len(set(text.split(",")))
print(total)
