# Imports a suppression list: python3 import-suppressions.py FILE [COLUMN]
# FILE is a CSV with a header line, or has one address per line. Addresses that are already listed are left as they are.
import csv
import json
import os
import sys
import urllib.request

URL = os.environ["WAYBILL_URL"] + "/v1/suppressions/batch"
HEADERS = {"Authorization": "Bearer " + os.environ["WAYBILL_API_KEY"], "Content-Type": "application/json"}
NAMES = ["email", "recipient", "emailaddress", "email address", "address"]


def addresses(path, column):
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row]
    head = [name.strip().lower() for name in rows[0]]
    known = [head.index(name) for name in ([column.lower()] if column else NAMES) if name in head]
    at = known[0] if known else 0
    return list(dict.fromkeys(row[at].strip() for row in (rows[1:] if known else rows) if len(row) > at and row[at].strip()))


def send(batch):
    body = [{"email": email, "reason": "manual", "notes": "imported"} for email in batch]
    with urllib.request.urlopen(urllib.request.Request(URL, json.dumps(body).encode(), HEADERS)) as response:
        return json.load(response)["data"]["data"]


found = addresses(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
added = 0
for start in range(0, len(found), 1000):
    batch = found[start : start + 1000]
    for email, result in zip(batch, send(batch)):
        if "id" in result:
            added += 1
        elif result["code"] != "suppression_exists":
            print(f"{email}: {result.get('error', result['code'])}", file=sys.stderr)
print(f"{added} added, {len(found)} in the file")
