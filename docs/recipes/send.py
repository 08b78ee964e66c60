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
ATTEMPTS = 4


def reason(refusal):
    """A proxy's body need not be JSON."""
    try:
        error = json.load(refusal)["error"]
        return f"{error['code']}: {error['message']}"
    except (ValueError, KeyError, TypeError):
        return "no reason given"


for attempt in range(1, ATTEMPTS + 1):
    request = urllib.request.Request(URL, json.dumps(EMAIL).encode(), HEADERS, method="POST")
    wait = 2**attempt
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            print(json.load(response)["data"]["id"])
            break
    except urllib.error.HTTPError as refusal:
        failure, is_final = f"{refusal.code} {reason(refusal)}", refusal.code != 429 and refusal.code < 500
        after = refusal.headers.get("Retry-After") or ""
        wait = int(after) if after.isdigit() else wait
    except OSError as error:  # No connection, or no response in time.
        failure, is_final = f"no response: {error}", False
    if is_final or attempt == ATTEMPTS:
        raise SystemExit(failure)
    time.sleep(wait + random.random() / 2)
