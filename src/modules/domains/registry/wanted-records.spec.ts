import type { DnsConfig } from '../../../config/config';
import { wantedRecords } from './wanted-records';

const DOMAIN = {
  id: '019a0000-0000-7000-8000-000000000001',
  domain: 'mail.customer.example',
  verificationToken: '0123456789abcdef0123456789abcdef',
};
const DNS: DnsConfig = {
  port: 5354,
  dkimZone: undefined,
  nameServerHosts: ['ns.waybill.example'],
  spfHost: 'spf.waybill.example',
  bounceHost: 'mx.waybill.example',
  trackingHost: 'track.waybill.example',
  dmarcReportAddress: 'dmarc@waybill.example',
};
const ACTIVE = { selector: 'wb1', publicKey: 'AAAA', state: 'active' as const };
const PENDING = { selector: 'wb2', publicKey: 'BBBB', state: 'pending' as const };

describe('wantedRecords', () => {
  it('names every record with its place and value, in the order of the set-up', () => {
    expect(wantedRecords(DOMAIN, [ACTIVE], DNS)).toEqual([
      {
        purpose: 'verification',
        type: 'TXT',
        host: '_waybill.mail.customer.example',
        value: 'waybill-verification=0123456789abcdef0123456789abcdef',
        ttlSeconds: 300,
      },
      {
        purpose: 'dkim',
        type: 'TXT',
        host: 'wb1._domainkey.mail.customer.example',
        value: 'v=DKIM1; k=rsa; p=AAAA',
        ttlSeconds: 300,
      },
      {
        purpose: 'spf',
        type: 'TXT',
        host: 'mail.customer.example',
        value: 'v=spf1 include:spf.waybill.example ~all',
        ttlSeconds: 300,
      },
      {
        purpose: 'dmarc',
        type: 'TXT',
        host: '_dmarc.mail.customer.example',
        value: 'v=DMARC1; p=none; rua=mailto:dmarc@waybill.example',
        ttlSeconds: 300,
      },
      {
        purpose: 'return_path',
        type: 'CNAME',
        host: 'bounce.mail.customer.example',
        value: 'mx.waybill.example',
        ttlSeconds: 300,
      },
      {
        purpose: 'tracking',
        type: 'CNAME',
        host: 'click.mail.customer.example',
        value: 'track.waybill.example',
        ttlSeconds: 300,
      },
    ]);
  });

  it('asks for every published key while two overlap', () => {
    const retiring = { ...ACTIVE, state: 'retiring' as const };
    const dkim = wantedRecords(DOMAIN, [retiring, PENDING], DNS).filter(({ purpose }) => purpose === 'dkim');
    expect(dkim.map(({ host, value }) => [host, value])).toEqual([
      ['wb1._domainkey.mail.customer.example', 'v=DKIM1; k=rsa; p=AAAA'],
      ['wb2._domainkey.mail.customer.example', 'v=DKIM1; k=rsa; p=BBBB'],
    ]);
  });

  it.each([
    ['one key', [ACTIVE]],
    ['two keys', [ACTIVE, PENDING]],
  ])('asks for the same two aliases with %s when the zone is delegated', (_, keys) => {
    const delegated = { ...DNS, dkimZone: 'dkim.waybill.example' };
    const dkim = wantedRecords(DOMAIN, keys, delegated).filter(({ purpose }) => purpose === 'dkim');
    expect(dkim.map(({ type, host, value }) => [type, host, value])).toEqual([
      ['CNAME', 'wb1._domainkey.mail.customer.example', `wb1.${DOMAIN.id}.dkim.waybill.example`],
      ['CNAME', 'wb2._domainkey.mail.customer.example', `wb2.${DOMAIN.id}.dkim.waybill.example`],
    ]);
  });

  it('keeps a key in its place that is older than the delegation', () => {
    const older = { ...ACTIVE, selector: 'wb3' };
    const records = wantedRecords(DOMAIN, [older], { ...DNS, dkimZone: 'dkim.waybill.example' });
    expect(records.filter(({ purpose }) => purpose === 'dkim').map(({ type, host }) => [type, host])).toEqual([
      ['CNAME', 'wb1._domainkey.mail.customer.example'],
      ['CNAME', 'wb2._domainkey.mail.customer.example'],
      ['TXT', 'wb3._domainkey.mail.customer.example'],
    ]);
  });
});
