import { tlsDemandOf } from './tls-demand';

const RELAY = { host: 'relay.example', port: 587, implicitTls: false };
const AUTH = { user: 'u', password: 'p' };
const ELSEWHERE = '192.0.2.1';
const HERE = '127.0.0.1';

describe('tlsDemandOf', () => {
  it.each([
    ['the built-in mailbox', HERE, true, { mode: 'local', tlsMode: 'required' }, ['none', false, undefined]],
    ['an exchanger', ELSEWHERE, false, { mode: 'direct' }, ['opportunistic', false, 'opportunistic']],
    ['an exchanger', ELSEWHERE, false, { mode: 'direct', tlsMode: 'required' }, ['starttls', false, 'required']],
    ['an exchanger, for a domain', ELSEWHERE, true, { mode: 'direct' }, ['starttls', false, 'required']],
    ['an exchanger here', HERE, true, { mode: 'direct' }, ['starttls', false, 'required']],
    ['a relay', ELSEWHERE, false, { mode: 'relay', relay: RELAY }, ['opportunistic', false, 'opportunistic']],
    ['a relay, for a domain', ELSEWHERE, true, { mode: 'relay', relay: RELAY }, ['starttls', false, 'required']],
    ['a relay here', HERE, true, { mode: 'relay', relay: RELAY }, ['opportunistic', false, 'opportunistic']],
    [
      'a relay with a login',
      ELSEWHERE,
      false,
      { mode: 'relay', relay: { ...RELAY, auth: AUTH } },
      ['starttls', true, undefined],
    ],
    [
      'a relay that speaks TLS from the start',
      ELSEWHERE,
      true,
      { mode: 'relay', relay: { ...RELAY, implicitTls: true } },
      ['implicit', true, undefined],
    ],
  ] as const)('%s at %s, required by the domain: %s, %j', (_what, address, requiresTls, settings, expected) => {
    const whole = { relay: undefined, tlsMode: 'opportunistic' as const, ...settings };
    const { security, verifyCertificate, policy } = tlsDemandOf({ address, requiresTls }, whole);
    expect([security, verifyCertificate, policy]).toEqual(expected);
  });

  it.each([true, false])('a policy of the destination asks for more than its sender (%s)', (requiresTls) => {
    const settings = { mode: 'direct', relay: undefined, tlsMode: 'required' } as const;
    expect(tlsDemandOf({ address: ELSEWHERE, requiresTls, tls: { policy: 'mta-sts' } }, settings)).toEqual({
      ...{ security: 'starttls', verifyCertificate: true, policy: 'mta-sts' },
    });
  });
});
