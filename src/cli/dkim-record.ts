import { createPublicKey, type KeyObject } from 'node:crypto';
import type { SigningKey } from '../delivery/ports/signing-key-source';

export interface DkimRecord {
  readonly host: string;
  readonly value: string;
}

/** The TXT record that lets receivers check the signatures of a key (RFC 6376 section 3.6.1). */
export function dkimRecord({ domain, selector, privateKey }: SigningKey): DkimRecord {
  return { host: `${selector}._domainkey.${domain}`, value: `v=DKIM1; k=rsa; p=${publicHalf(privateKey)}` };
}

function publicHalf(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64');
}
