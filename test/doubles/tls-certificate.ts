/**
 * A self-signed certificate for tests only: its key is public. Valid for mx.sink.test, localhost and 127.0.0.1, from 2020
 * to 2119. Made with `openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256` and `openssl ca -selfsign`.
 */
export const TEST_CERTIFICATE = {
  hostName: 'mx.sink.test',
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8d0gGkFN6uqYNi9T
3779hgSfSxB58UgTG0ZAxbp+F6GhRANCAASbpTmBlj89xWnQI0yDZLLkWRevInJe
vCoDx7KXJoip/1MIl+kdcXEF55hQftFahtMXJFw1C4zLPSR5AiTLQI4P
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBezCCASGgAwIBAgIBATAKBggqhkjOPQQDAjAXMRUwEwYDVQQDDAxteC5zaW5r
LnRlc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBcxFTATBgNV
BAMMDG14LnNpbmsudGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJulOYGW
Pz3FadAjTINksuRZF68icl68KgPHspcmiKn/UwiX6R1xcQXnmFB+0VqG0xckXDUL
jMs9JHkCJMtAjg+jXDBaMCgGA1UdEQQhMB+CDG14LnNpbmsudGVzdIIJbG9jYWxo
b3N0hwR/AAABMA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFD9bUfCaUCMqw1ZS
5bNWV2TLaF44MAoGCCqGSM49BAMCA0gAMEUCIEbGGFmWzE2gviVReUcX7EsvF7pd
lxXVHay37AaQWZkqAiEAkeiWMVmno6pAKvojnm1a3YbPjhU4pfmsEut7xkNj2cc=
-----END CERTIFICATE-----`,
};
