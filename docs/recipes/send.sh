#!/bin/sh
# curl 7.76 or later: sh send.sh. curl itself waits for Retry-After, and tries again with the same key.
response=$(
  curl --fail-with-body --silent --show-error --max-time 30 --retry 3 \
    -H "Authorization: Bearer $WAYBILL_API_KEY" \
    -H 'Content-Type: application/json' \
    -H "Idempotency-Key: $(date +%s)-$$" \
    -d "{\"to\": [\"${WAYBILL_TO:-ada@example.com}\"], \"subject\": \"Hello from curl\", \"html\": \"<p>Hello</p>\"}" \
    "$WAYBILL_URL/v1/emails"
) || {
  printf '%s\n' "$response" >&2
  exit 1
}
printf '%s\n' "$response" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p'
