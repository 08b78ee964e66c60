<?php
// PHP 8 with the curl extension: php send.php
$email = [
    'to' => [getenv('WAYBILL_TO') ?: 'ada@example.com'],
    'subject' => 'Hello from PHP',
    'html' => '<p>Hello</p>',
];
$request = curl_init(getenv('WAYBILL_URL') . '/v1/emails');
curl_setopt_array($request, [
    CURLOPT_POST => true,
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_TIMEOUT => 30,
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ' . getenv('WAYBILL_API_KEY'),
        'Content-Type: application/json',
        // The same in every attempt: the mail goes out once.
        'Idempotency-Key: ' . bin2hex(random_bytes(16)),
    ],
    CURLOPT_POSTFIELDS => json_encode($email),
    CURLOPT_HEADERFUNCTION => function ($request, $line) use (&$retryAfter) {
        if (stripos($line, 'retry-after:') === 0) {
            $retryAfter = (int) trim(substr($line, 12));
        }
        return strlen($line);
    },
]);
for ($attempt = 1; ; $attempt++) {
    $retryAfter = null;
    $body = json_decode((string) curl_exec($request), true);
    $status = curl_getinfo($request, CURLINFO_RESPONSE_CODE);
    if ($status === 202) {
        echo $body['data']['id'], "\n";
        break;
    }
    if ($attempt === 4 || ($status > 0 && $status !== 429 && $status < 500)) {
        fwrite(STDERR, ($body['error']['code'] ?? 'no response') . ': ' . ($body['error']['message'] ?? '') . "\n");
        exit(1);
    }
    usleep((int) (($retryAfter ?? 2 ** $attempt) * 1e6 + random_int(0, 500_000)));
}
