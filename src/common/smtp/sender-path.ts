/** RFC 5321 section 4.5.3.1.3, without the angle brackets. */
const MAX_PATH = 254;
/** The path, which may hold white space and a colon within quotes, and the parameters after it. */
const COMMAND = /^MAIL FROM\s{0,10}:\s{0,10}<((?:"(?:[^"\\]|\\.){0,254}"|[^<>"]){1,512})>(?!\S)(.*)$/is;
/** A source route is to be ignored (RFC 5321 appendix C). */
const ROUTE = /^@[^\s,:@"]{1,254}(?:,@[^\s,:@"]{1,254}){0,20}:/;
/** The local part alone is what programs on a machine write, such as cron. */
const SENDER = /^(?:"(?:[^"\\]|\\.){0,252}"|[^\s<>"@]{1,254})(?:@[^\s<>"@]{1,254})?$/s;
/** Controls, and what is not seen. */
const UNFIT = /[\x00-\x1f\x7f-\x9f\u200b\u2060\ufeff]/;

/** A sender that is taken as it is, and what follows it on the command line. */
export interface SenderPath {
  readonly address: string;
  readonly parameters: string;
}

/**
 * The sender of a `MAIL` whose form the library does not accept: a quoted local part (RFC 5321 section 4.1.2), dots that stand
 * together (mail providers in Japan gave such addresses away), a host name with an underscore (containers have them), no host
 * at all. Nothing is sent there: it is only shown, and compared. Undefined for what is no path.
 */
export function readSenderPath(command: string): SenderPath | undefined {
  const [, path = '', parameters = ''] = COMMAND.exec(command) ?? [];
  const address = path.replace(ROUTE, '');
  if (address.length > MAX_PATH || UNFIT.test(address) || !SENDER.test(address)) return undefined;
  return { address, parameters };
}
