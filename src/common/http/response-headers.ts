import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

type Header = readonly [name: string, value: string];

export interface StandardHeaders {
  /** On every response, whatever the handler sets. */
  readonly fixed: readonly Header[];
  /** On every response unless the handler has set its own (the HTML pages do). */
  readonly defaults: readonly Header[];
}

const POLICY = 'content-security-policy';

/**
 * The security headers, as helmet writes them. They are the same for all responses, so helmet runs once, at the start.
 * @param strictTransport true when clients reach the service over https (a proxy in front may send the header too).
 */
export function standardHeaders(strictTransport: boolean): StandardHeaders {
  const headers = new Map(helmetHeaders(strictTransport));
  const policy = String(headers.get(POLICY)).replaceAll(';', '; ');
  headers.delete(POLICY);
  return {
    fixed: [...headers],
    defaults: [
      ['cache-control', 'no-store'],
      [POLICY, policy],
    ],
  };
}

function helmetHeaders(strictTransport: boolean): Header[] {
  const headers: Header[] = [];
  const recorder = {
    setHeader: (name: string, value: string) => headers.push([name.toLowerCase(), value]),
    removeHeader: () => undefined,
  };
  const directives = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] };
  const setHeaders = helmet({
    contentSecurityPolicy: { useDefaults: false, directives },
    strictTransportSecurity: strictTransport && { maxAge: 31_536_000, includeSubDomains: false },
    referrerPolicy: { policy: 'no-referrer' },
    // These concern pages that load other things; the callers of an API are programs.
    crossOriginOpenerPolicy: false,
    crossOriginResourcePolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xFrameOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  });
  setHeaders({} as IncomingMessage, recorder as unknown as ServerResponse, () => undefined);
  return headers;
}
