import { parseUrl } from '../../common/network';

/** `https:host` and the like are left out: what they mean depends on the page that they stand in. */
const ABSOLUTE = /^[\0-\x20]*https?:\/\//i;

/**
 * The address that a browser asks for when it follows this one, printable ASCII (WHATWG URL); undefined unless that is
 * an absolute one of http or https without credentials.
 */
export function webUrlOf(address: string): string | undefined {
  const url = ABSOLUTE.test(address) ? parseUrl(address) : undefined;
  return url?.username === '' && url.password === '' ? url.href : undefined;
}
