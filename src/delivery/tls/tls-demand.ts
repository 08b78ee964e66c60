import type { AppConfig } from '../../config/config';
import type { HostTls } from '../routing/router';
import { isLoopback, type SmtpEndpoint } from '../smtp/smtp-endpoint';

/** What a connection has to be like, and who asks for it. */
export type TlsDemand = Pick<SmtpEndpoint, 'security' | 'verifyCertificate' | 'policy' | 'auth' | 'tlsa'>;

type Settings = Pick<AppConfig['delivery'], 'mode' | 'relay' | 'tlsMode'>;

/** Who goes there, and what asks for encryption. */
export interface Way {
  readonly address: string;
  /** The sender's domain lets its mail go over encrypted connections only. */
  readonly requiresTls: boolean;
  /** What the destination has said of the host. */
  readonly tls?: HostTls | undefined;
}

/**
 * Mail exchangers: opportunistic TLS (RFC 7435), unless the destination's policy, the operator or the sender's domain asks for more, the
 * strictest of these. A relay with credentials must prove who it is before it sees them. What does not leave this machine need not be encrypted.
 */
export function tlsDemandOf({ address, requiresTls, tls }: Way, { mode, relay, tlsMode }: Settings): TlsDemand {
  if (mode === 'local') return { security: 'none', verifyCertificate: false };
  const isRequired = requiresTls || tlsMode === 'required';
  const ofExchanger = tls ? demandOfHost(tls) : isRequired ? REQUIRED : OPPORTUNISTIC;
  if (mode === 'direct' || !relay) return ofExchanger;
  const { implicitTls, auth } = relay;
  if (implicitTls) return { security: 'implicit', verifyCertificate: !isLoopback(address), auth };
  if (isLoopback(address)) return { ...OPPORTUNISTIC, auth };
  return auth ? { security: 'starttls', verifyCertificate: true, auth } : ofExchanger;
}

const OPPORTUNISTIC: TlsDemand = { security: 'opportunistic', verifyCertificate: false, policy: 'opportunistic' };
const REQUIRED: TlsDemand = { security: 'starttls', verifyCertificate: false, policy: 'required' };

function demandOfHost(tls: HostTls): TlsDemand {
  switch (tls.policy) {
    case 'mta-sts':
      return { security: 'starttls', verifyCertificate: true, policy: 'mta-sts' };
    case 'dane':
      return { security: 'starttls', verifyCertificate: false, policy: 'dane', tlsa: tls.tlsa };
  }
}
