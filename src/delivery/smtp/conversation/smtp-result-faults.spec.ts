import { faultOf } from './smtp-result';

describe('faultOf', () => {
  it.each([
    ['ECONNREFUSED', false, 'refused'],
    ['ECONNRESET', false, 'reset'],
    ['ECONNRESET', true, 'reset', 'validation-failure'],
    ['EPIPE', false, 'closed'],
    ['ETIMEDOUT', false, 'timeout'],
    ['EHOSTUNREACH', false, 'unreachable'],
    ['ENOTFOUND', false, 'unreachable'],
    ['EMFILE', false, 'local'],
    ['ENFILE', true, 'local', 'validation-failure'],
    ['EADDRNOTAVAIL', false, 'local'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', true, 'tls', 'certificate-not-trusted'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', true, 'tls', 'certificate-not-trusted'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', true, 'tls', 'certificate-host-mismatch'],
    ['CERT_HAS_EXPIRED', true, 'tls', 'certificate-expired'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', true, 'tls', 'validation-failure'],
  ])('%s, TLS %s', (code, usesTls, cause, tlsFault = undefined) => {
    expect(faultOf(Object.assign(new Error('what happened'), { code }), usesTls)).toEqual({
      cause,
      detail: 'what happened',
      tlsFault,
    });
  });

  it('takes a missing IPv6 address of this host for what it is', () => {
    const error = Object.assign(new Error('no address'), { code: 'EADDRNOTAVAIL', address: '2001:db8::1' });
    expect(faultOf(error, false).cause).toBe('unreachable');
  });

  it('quotes the remote side in short and printable', () => {
    const error = Object.assign(new Error(`altnames: DNS:\x1b[31m${'x'.repeat(1_000)}`), { code: 'ERR_TLS_CERT' });
    const { detail } = faultOf(error, true);
    expect(detail).toMatch(/^altnames: DNS:\?\[31mx+$/);
    expect(detail).toHaveLength(300);
  });

  it.each([
    ['0A00010B', 'ssl3_get_record', 'wrong version number', '../deps/openssl/openssl/ssl/record/ssl3_record.c:350'],
    ['0A000410', 'ssl3_read_bytes', 'ssl/tls alert handshake failure', 'ssl/record/rec_layer_s3.c:1605'],
  ])('leaves out where in OpenSSL an error occurred: %s', (number, place, reason, file) => {
    const message = `80FC09FB4B7F0000:error:${number}:SSL routines:${place}:${reason}:${file}:SSL alert number 40\n`;
    expect(faultOf(Object.assign(new Error(message), { code: 'ERR_SSL' }), true).detail).toBe(
      `SSL routines: ${reason}`,
    );
  });

  it('has a detail even for an error without a message', () => {
    expect(faultOf(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), false).detail).toBe('ECONNREFUSED');
  });
});
