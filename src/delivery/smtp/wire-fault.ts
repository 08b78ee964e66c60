import { printable } from './smtp-reply';
import type { TlsFault } from '../ports/attempt-trace';
import type { SmtpFailureCause } from './smtp-result';

/** Why a wire is of no more use; the caller adds the phase. */
export interface WireFault {
  readonly cause: SmtpFailureCause;
  readonly detail: string;
  /** Set when encryption failed. */
  readonly tlsFault?: TlsFault;
}

const CAUSES: Readonly<Record<string, SmtpFailureCause>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'closed',
  ETIMEDOUT: 'timeout',
  EMFILE: 'local',
  ENFILE: 'local',
  ENOBUFS: 'local',
  ENOMEM: 'local',
};

const MAX_DETAIL_CHARACTERS = 300;

/**
 * The cause that a socket error stands for. Those of TLS have many codes (OpenSSL reasons, certificate checks), as have
 * those of routing and name resolution, so each is the rest of its side.
 */
export function faultOf(error: NodeJS.ErrnoException & { address?: string }, usesTls: boolean): WireFault {
  const code = error.code ?? '';
  // A connection attempt to several addresses fails with an AggregateError without a message of its own.
  const detail = error.message || code;
  // Errors of TLS quote the remote side's certificate.
  return {
    cause: CAUSES[code] ?? (isOutOfPorts(error) ? 'local' : usesTls ? 'tls' : 'unreachable'),
    detail: printable(detail.slice(0, MAX_DETAIL_CHARACTERS)),
    ...(usesTls && { tlsFault: tlsFaultOf(code) }),
  };
}

const NOT_TRUSTED = /^(?:DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|CERT_UNTRUSTED|CERT_REJECTED|INVALID_CA)/;

/** @param code of a failed check of a certificate, or any other */
export function tlsFaultOf(code: string): TlsFault {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'certificate-host-mismatch';
  if (code === 'CERT_HAS_EXPIRED') return 'certificate-expired';
  return NOT_TRUSTED.test(code) ? 'certificate-not-trusted' : 'validation-failure';
}

/** No port is left to connect from. With an IPv6 address it means that this host has none, and IPv4 may still work. */
function isOutOfPorts({ code, address = '' }: NodeJS.ErrnoException & { address?: string }): boolean {
  return code === 'EADDRNOTAVAIL' && !address.includes(':');
}

/** The other side ended the connection in the regular way. */
export const CLOSED: WireFault = { cause: 'closed', detail: 'The server closed the connection' };

/** This side ended it. */
export const ABORTED: WireFault = { cause: 'aborted', detail: 'The connection was closed on this side' };

/** The other side is taking its time, and others are waiting for the slot. */
export const CUT_SHORT: WireFault = { cause: 'timeout', detail: 'The server was silent while other mail waited' };

/** @param detail what was wrong with the remote side's bytes. */
export function protocolFault(detail: string): WireFault {
  return { cause: 'protocol', detail };
}
