import express from 'express';
import fc from 'fast-check';
import { notProxies, parseTrustProxy } from './trust-proxy';

describe('parseTrustProxy', () => {
  it.each<[string[], unknown]>([
    [['true'], true],
    [['false'], false],
    [['0'], false],
    [['1'], 1],
    [['2'], 2],
    [['32'], 32],
    [['127.0.0.1'], ['127.0.0.1']],
    [['::1'], ['::1']],
    [
      ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32'],
      ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32'],
    ],
  ])('reads %j', (entries, trusted) => expect(parseTrustProxy(entries)).toEqual(trusted));

  it.each([
    ...['yes', 'TRUE', 'on', '-1', '33', '100', '1.5', 'proxy.example.com', 'loopback', '*', 'localhost'],
    ...['10.0.0.0/0', '::/0', '10.0.0.0/33', '2001:db8::/129', '10.0.0.0/255.0.0.0', '10.0.0/8', '010.0.0.1'],
    ...['10.0.0.0/', '/8', '10.0.0.0/8/8', 'fe80::1%eth0', '10.0.0.256', '127.0.0.1:3000', '10.0.0.0-10.0.0.9'],
  ])('refuses %s, and names it', (entry) => {
    expect(parseTrustProxy([entry])).toBeUndefined();
    expect(parseTrustProxy(['10.0.0.1', entry])).toBeUndefined();
    expect(notProxies([entry])).toEqual([entry]);
    if (Number.isNaN(Number(entry))) expect(notProxies(['10.0.0.1', entry])).toEqual([entry]);
  });

  it('refuses nothing at all, and what stands beside a word or a number', () => {
    for (const entries of [[], ['true', '10.0.0.1'], ['2', '10.0.0.1'], ['1', '1']]) {
      expect(parseTrustProxy(entries)).toBeUndefined();
    }
  });

  it('takes no list that Express would refuse', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.stringMatching(/^[0-9a-f:.]{1,20}$/));
    const entry = fc.oneof(
      address,
      fc.tuple(address, fc.integer({ min: -1, max: 130 })).map(([network, prefix]) => `${network}/${prefix}`),
    );
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 3 }), (entries) => {
        const trusted = parseTrustProxy(entries);
        if (trusted !== undefined) express().set('trust proxy', trusted);
      }),
    );
  });
});
