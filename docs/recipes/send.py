# Python 3.8 or later, standard library only: python3 send.py
import json
import os
import random
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ["WAYBILL_URL"] + "/v1/emails"
EMAIL = {
    "to": [os.environ.get("WAYBILL_TO", "ada@example.com")],
    "subject": "Hello from Python",
    "html": "<p>Hello</p>",
}
HEADERS = {
    "Authorization": "Bearer " + os.environ["WAYBILL_API_KEY"],
    "Content-Type": "application/json",
    # The same in every attempt: the mail goes out once.
    "Idempotency-Key": str(uuid.uuid4()),
}

for attempt in range(1, 5):
    request = urllib.request.Request(URL, json.dumps(EMAIL).encode(), HEADERS, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            print(json.load(response)["data"]["id"])
            break
    except urllib.error.HTTPError as refusal:
        if attempt == 4 or (refusal.code != 429 and refusal.code < 500):
            error = json.load(refusal)["error"]
            raise SystemExit(f"{error['code']}: {error['message']}")
        time.sleep(float(refusal.headers.get("Retry-After") or 2**attempt) + random.random() / 2)
