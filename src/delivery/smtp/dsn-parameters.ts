import type { SmtpCapabilities } from './smtp-capabilities';

/** RFC 3461 section 4.2: an original recipient longer than this must not be sent. */
const MAX_ORIGINAL_RECIPIENT = 500;
const PRINTABLE_ASCII = /^[\u0020-\u007e]*$/;
/** What stands for itself in xtext: printable ASCII but for the space, `+` and `=`. */
const TO_ESCAPE = /[^!-*,-<>-~]/g;

/** ASCII as an ESMTP parameter's value (RFC 3461 section 4): what may not stand there becomes `+` and two hex digits. */
export function toXtext(text: string): string {
  return text.replace(TO_ESCAPE, (character) => {
    return `+${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

/**
 * ` RET=HDRS ENVID=…` for MAIL (RFC 3461 sections 4.3 and 4.4): a notification names the email and brings its header
 * only. Empty when none is wanted or the server does not offer it.
 */
export function dsnMailParameters(envelopeId: string | undefined, offered: SmtpCapabilities): string {
  if (envelopeId === undefined || !offered.dsn) return '';
  return ` RET=HDRS ENVID=${toXtext(envelopeId)}`;
}

/**
 * ` NOTIFY=SUCCESS,FAILURE ORCPT=…` for RCPT (sections 4.1 and 4.2). An address that is not ASCII has another form of
 * ORCPT (RFC 6533 section 3), which few relays know; the parameter is optional and left out.
 */
export function dsnRcptParameters(
  envelopeId: string | undefined,
  recipient: string,
  offered: SmtpCapabilities,
): string {
  if (envelopeId === undefined || !offered.dsn) return '';
  const original = PRINTABLE_ASCII.test(recipient) ? `rfc822;${toXtext(recipient)}` : '';
  const isFit = original !== '' && original.length <= MAX_ORIGINAL_RECIPIENT;
  return ` NOTIFY=SUCCESS,FAILURE${isFit ? ` ORCPT=${original}` : ''}`;
}
