import { isOwnName } from './own-names';

const CONFIG = {
  delivery: { mailHost: 'mx.waybill.example' },
  http: { publicUrl: 'https://API.waybill.example:8443/base' },
  dns: {
    dkimZone: 'dkim.waybill.example',
    nameServerHosts: ['ns1.waybill.example'],
    spfHost: 'spf.waybill.example',
    bounceHost: 'bounces.waybill.example',
    trackingHost: 'click.waybill.example',
  },
};

describe('isOwnName', () => {
  it.each([
    'mx.waybill.example',
    'api.waybill.example',
    'spf.waybill.example',
    'bounces.waybill.example',
    'click.waybill.example',
    'ns1.waybill.example',
    'dkim.waybill.example',
    'wb1.customer.dkim.waybill.example',
  ])('knows %s as its own', (domain) => {
    expect(isOwnName(domain, CONFIG)).toBe(true);
  });

  it.each(['waybill.example', 'news.waybill.example', 'notdkim.waybill.example', 'sub.mx.waybill.example'])(
    'leaves %s to its owner',
    (domain) => {
      expect(isOwnName(domain, CONFIG)).toBe(false);
    },
  );

  it('has no zone unless one is delegated', () => {
    const config = { ...CONFIG, dns: { ...CONFIG.dns, dkimZone: undefined } };
    expect(isOwnName('dkim.waybill.example', config)).toBe(false);
  });
});
