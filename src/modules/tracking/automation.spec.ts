import fc from 'fast-check';
import { anyCharacter } from '../../../test/factories/any-character';
import { AGENT_RULES, recognizeAutomation, truncateAddress, type Visit } from './automation';

describe('truncateAddress', () => {
  it.each([
    ['203.0.113.77', '203.0.113.0'],
    ['::ffff:203.0.113.77', '203.0.113.0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::'],
    ['fe80::1%eth0', 'fe80::'],
    ['::1', '::'],
  ])('of %s leaves %s', (address, network) => expect(truncateAddress(address)).toBe(network));

  it.each(['', 'unknown', '203.0.113.77:80', '<script>'])('of %j leaves nothing', (address) =>
    expect(truncateAddress(address)).toBeUndefined(),
  );

  it('never holds what tells one client of a network from another', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.nat({ max: 255 }), (address, host) => {
        expect(truncateAddress(address.replace(/\d+$/, String(host)))).toBe(truncateAddress(address));
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const network = truncateAddress(address) ?? '';
        expect(truncateAddress(network)).toBe(network);
      }),
    );
  });

  it('takes any text', () => {
    fc.assert(fc.property(fc.string(), (text) => void truncateAddress(text)));
  });
});

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0';

function visit(fields: Partial<Visit> = {}): Visit {
  return {
    ...{ isHead: false, isPrefetch: false, userAgent: FIREFOX, address: '203.0.113.7', isOnThisMachine: false },
    ...fields,
  };
}

describe('a person is known', () => {
  it.each([
    FIREFOX,
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36 Edg/137.0.0.0',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)',
    'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; WOW64; Trident/7.0; .NET4.0C; .NET4.0E; Microsoft Outlook 16.0.4266; ms-office; MSOffice 16)',
    'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.12026; Pro)',
    'Outlook-iOS/2.0',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:102.0) Gecko/20100101 Thunderbird/102.4.0',
    'Dalvik/2.1.0 (Linux; U; Android 13; SM-G991B Build/TP1A.220624.014)',
    'K-9 Mail/6.4 Android',
  ])('by %s', (userAgent) => expect(recognizeAutomation(visit({ userAgent }))).toEqual({}));
});

describe('an agent of a mail service is known', () => {
  it.each(AGENT_RULES.map(({ example, automation, proxy }) => [example, automation, proxy] as const))(
    'by %s',
    (userAgent, automation, proxy) => {
      const recognized = recognizeAutomation(visit({ userAgent }));
      expect(recognized.automation).toBe(automation);
      expect(recognized.proxy).toBe(proxy);
      // From memory as well.
      expect(recognizeAutomation(visit({ userAgent }))).toEqual(recognized);
    },
  );

  it('as what it is: a rule for each kind', () => {
    expect(new Set(AGENT_RULES.map(({ automation, proxy }) => automation ?? proxy)).size).toBe(4);
    for (const { pattern, example } of AGENT_RULES) expect(example).toMatch(pattern);
  });
});

describe('automation is known', () => {
  it.each<[string, Partial<Visit>]>([
    ['head-request', { isHead: true }],
    ['prefetch', { isPrefetch: true }],
    ['no-user-agent', { userAgent: '' }],
    ['no-user-agent', { userAgent: '  ' }],
    ['crawler', { userAgent: 'curl/8.5.0' }],
    ['crawler', { userAgent: 'python-requests/2.31.0' }],
    ['crawler', { userAgent: 'Go-http-client/1.1' }],
    ['crawler', { userAgent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' }],
    ['crawler', { userAgent: 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' }],
    ['security-scanner', { userAgent: 'Mozilla/5.0 (compatible; Mimecast)' }],
    ['security-scanner', { address: '64.235.150.9' }],
    ['security-scanner', { address: '::ffff:67.231.145.1' }],
  ])('as %s: %j', (automation, fields) => expect(recognizeAutomation(visit(fields))).toMatchObject({ automation }));

  it('not by the tools of a person on this machine, whose filters are known all the same', () => {
    const local = { address: '127.0.0.1', isOnThisMachine: true };
    for (const userAgent of ['', 'curl/8.5.0', 'axios/1.7.2', 'python-requests/2.31.0']) {
      expect(recognizeAutomation(visit({ ...local, userAgent }))).toEqual({});
    }
    for (const fields of [
      { isHead: true },
      { isPrefetch: true },
      { userAgent: 'Barracuda' },
      { userAgent: 'Mozilla/5.0' },
    ]) {
      expect(recognizeAutomation(visit({ ...local, ...fields })).automation).toBeDefined();
    }
  });

  it('not by an address that is none, or of the other family', () => {
    for (const address of ['', 'unknown', '40eb:9009::', '64.235.150']) {
      expect(recognizeAutomation(visit({ address }))).toEqual({});
    }
  });

  it('in any agent, however long', () => {
    const agents = fc.string({ unit: anyCharacter, maxLength: 2_000 });
    fc.assert(
      fc.property(agents, (userAgent) => {
        const first = recognizeAutomation(visit({ userAgent }));
        expect(recognizeAutomation(visit({ userAgent }))).toEqual(first);
      }),
      { numRuns: 200 },
    );
  });
});
