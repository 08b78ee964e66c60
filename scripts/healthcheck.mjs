// The image's HEALTHCHECK: exit code 0 when this container's process has started, whatever its roles. Orchestrators end containers that are
// unhealthy, so a database that is away or slow does not count from then on: a new process would have no other database.
const { METRICS_HOST, METRICS_PORT } = process.env;
const isAnywhere = ['', '0.0.0.0', '::'].includes(METRICS_HOST ?? '');
const host = isAnywhere ? '127.0.0.1' : METRICS_HOST.includes(':') ? `[${METRICS_HOST}]` : METRICS_HOST;
const url = `http://${host}:${METRICS_PORT || 9464}/health/startup`;
try {
  const response = await fetch(url, { signal: AbortSignal.timeout(8_000) });
  const text = await response.text();
  if (!response.ok) process.stderr.write(`${url}: ${response.status} ${text}\n`);
  process.exitCode = response.ok || hasOnlyLostDatabase(JSON.parse(text)) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${url}: ${error.cause?.message || error.message}\n`);
  process.exitCode = 1;
}

/** A process that still waits for its schema gives the reason, and one that is stopping has its database. */
function hasOnlyLostDatabase({ database, reason }) {
  return reason === undefined && database?.healthy === false;
}
