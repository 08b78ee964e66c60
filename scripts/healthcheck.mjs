// The image's HEALTHCHECK: exit code 0 when this container's process is ready, whatever its roles.
const { METRICS_HOST, METRICS_PORT } = process.env;
const isAnywhere = ['', '0.0.0.0', '::'].includes(METRICS_HOST ?? '');
const host = isAnywhere ? '127.0.0.1' : METRICS_HOST.includes(':') ? `[${METRICS_HOST}]` : METRICS_HOST;
const url = `http://${host}:${METRICS_PORT || 9464}/health/startup`;
try {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_500) });
  if (!response.ok) process.stderr.write(`${url}: ${response.status} ${await response.text()}\n`);
  process.exitCode = response.ok ? 0 : 1;
} catch (error) {
  process.stderr.write(`${url}: ${error.cause?.message || error.message}\n`);
  process.exitCode = 1;
}
