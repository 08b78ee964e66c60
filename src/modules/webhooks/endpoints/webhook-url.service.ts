import { Injectable } from '@nestjs/common';
import { EgressGuard, isAddressed } from '../../../common/egress/egress-guard';
import { ValidationError } from '../../../common/errors/app-error';
import { parseUrl } from '../../../common/network';
import { AppConfig } from '../../../config/config';

/** A URL that a customer gave, in its canonical form, or why it cannot be one. */
export type CheckedUrl = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly problem: string };

export const MAX_URL_LENGTH = 2_048;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const HTTPS_PORT = 443;
/** Below are services of the system, which are not contacted on a customer's behalf. */
const FIRST_FREE_PORT = 1_024;

/** Decides where webhooks may be sent, when the customer sets the URL; each connection is checked again. */
@Injectable()
export class WebhookUrlService {
  constructor(
    private readonly config: AppConfig,
    private readonly guard: EgressGuard,
  ) {}

  /**
   * Returns the URL in its canonical form. Names are not resolved: the address at the time of sending counts, records may be
   * added after the endpoint, and the result would disclose names of our own network.
   * @throws ValidationError
   */
  async accept(text: string): Promise<string> {
    const checked = checkUrl(text, this.config.webhooks.allowPrivate);
    if (!checked.ok) throw new ValidationError({ url: [checked.problem] });
    if (!isAddressed(checked.url)) return checked.url.href;
    const check = await this.guard.check(checked.url);
    if (check.kind === 'refused') throw new ValidationError({ url: [`url cannot be used: ${check.reason}`] });
    return checked.url.href;
  }
}

/**
 * Whether webhooks may be sent there, as far as the text shows (WHATWG URL); the host's addresses are checked when sending.
 * @param allowPrivate http as well, to this machine alone
 */
export function checkUrl(text: string, allowPrivate: boolean): CheckedUrl {
  const url = text.length <= MAX_URL_LENGTH ? parseUrl(text) : undefined;
  if (!url || url.href.length > MAX_URL_LENGTH) {
    return refused(`url must be a URL of at most ${MAX_URL_LENGTH.toLocaleString('en')} characters`);
  }
  if (!hasAllowedScheme(url, allowPrivate)) return refused('url must begin with https://');
  if (url.username !== '' || url.password !== '') return refused('url must not hold credentials');
  if (text.includes('#')) return refused('url must not have a fragment');
  if (!isAllowedPort(portOf(url))) return refused(`url must use port ${HTTPS_PORT}, or one from ${FIRST_FREE_PORT} on`);
  return { ok: true, url };
}

function refused(problem: string): CheckedUrl {
  return { ok: false, problem };
}

function hasAllowedScheme({ protocol, hostname }: URL, allowPrivate: boolean): boolean {
  return protocol === 'https:' || (protocol === 'http:' && allowPrivate && LOOPBACK.test(hostname));
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? HTTPS_PORT : 80) : Number(port);
}

function isAllowedPort(port: number): boolean {
  return port === HTTPS_PORT || port >= FIRST_FREE_PORT;
}
