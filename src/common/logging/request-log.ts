import { SECOND } from '../clock';
import type { LogRequest, RequestLine } from '../http/request';
import type { Metrics } from '../metrics/metrics';
import type { Logger } from './logger';

const WINDOW_MS = 10 * SECOND;
/** Of an organization and a class of status, within a window: rate limits bound its other requests. */
const MAX_REFUSED = 100;
/** Of a route, or of all that no route takes, and a class of status, within a window. */
const MAX_WITHOUT_KEY = 1_000;

/** The lines of one organization, or of a route, within the present window; failures apart, so that no refusals hide them. */
interface Share extends Pick<RequestLine, 'organizationId' | 'route'> {
  readonly status: string;
  logged: number;
  leftOut: number;
}

/**
 * One line per request: errors at level error, all else at info. Requests that were refused, or had no key, have shares of the log,
 * so that no client fills it: what exceeds a share within ten seconds is counted, and summed up in one line.
 */
export function logRequestsTo(logger: Logger, metrics: Metrics): LogRequest {
  const help = 'Lines of requests that were left out of the log, as their client or route had many within seconds';
  const leftOut = metrics.counter({ name: 'log_request_lines_left_out_total', help });
  const shares = new Map<string, Share>();
  let window: NodeJS.Timeout | undefined;

  function endWindow(): void {
    window = undefined;
    for (const share of shares.values()) {
      if (share.leftOut > 0) logger.warn({ ...share, seconds: WINDOW_MS / SECOND }, 'requests not logged one by one');
    }
    shares.clear();
  }

  function fits({ organizationId, route, status }: RequestLine): boolean {
    const shown = `${Math.floor(status / 100)}xx`;
    const name = `${shown} ${organizationId ?? route ?? ''}`;
    const share = shares.get(name) ?? {
      organizationId,
      route: organizationId ? undefined : route,
      status: shown,
      logged: 0,
      leftOut: 0,
    };
    shares.set(name, share);
    window ??= setTimeout(endWindow, WINDOW_MS).unref();
    if (share.logged < (organizationId ? MAX_REFUSED : MAX_WITHOUT_KEY)) {
      share.logged += 1;
      return true;
    }
    share.leftOut += 1;
    leftOut.inc();
    return false;
  }

  return (line) => {
    const isBounded = line.status >= 400 || (line.organizationId === undefined && line.operatorKeyId === undefined);
    if (isBounded && !fits(line)) return;
    if (line.err === undefined) logger.info(line, 'request');
    else logger.error(line, 'request failed');
  };
}
