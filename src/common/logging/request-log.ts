import { SECOND } from '../clock';
import type { LogRequest, RequestLine } from '../http/request/request';
import type { Metrics } from '../metrics/metrics';
import { LineShares } from './line-shares';
import type { Logger } from './logger';

const WINDOW_MS = 10 * SECOND;
/** Of an organization and a class of status, within a window: rate limits bound its other requests. */
const MAX_REFUSED = 100;
/** Of a route, or of all that no route takes, and a class of status, within a window. */
const MAX_WITHOUT_KEY = 1_000;

/**
 * One line per request: errors at level error, all else at info. Requests that were refused, or had no key, have shares of the log,
 * so that no client fills it: what exceeds a share within ten seconds is counted, and summed up in one line.
 */
export function logRequestsTo(logger: Logger, metrics: Metrics): LogRequest {
  const help = 'Lines of requests that were left out of the log, as their client or route had many within seconds';
  const leftOut = metrics.counter({ name: 'log_request_lines_left_out_total', help });
  const shares = new LineShares(WINDOW_MS);

  /** Failures have shares apart, so that no refusals hide them. */
  function fits({ organizationId, route, status }: RequestLine): boolean {
    const shown = `${Math.floor(status / 100)}xx`;
    const holder = organizationId === undefined ? { route } : { organizationId };
    const most = organizationId === undefined ? MAX_WITHOUT_KEY : MAX_REFUSED;
    const fields = { ...holder, status: shown };
    const isLogged = shares.take(`${shown} ${organizationId ?? route ?? ''}`, most, (left) =>
      logger.warn({ ...fields, ...left }, 'requests not logged one by one'),
    );
    if (!isLogged) leftOut.inc();
    return isLogged;
  }

  return (line) => {
    const isBounded = line.status >= 400 || (line.organizationId === undefined && line.operatorKeyId === undefined);
    if (isBounded && !fits(line)) return;
    if (line.err === undefined) logger.info(line, 'request');
    else logger.error(line, 'request failed');
  };
}
