import fc from 'fast-check';
import { dsnMailParameters, dsnRcptParameters, NO_CAPABILITIES, toXtext } from './smtp-envelope';

const OFFERED = { ...NO_CAPABILITIES, dsn: true };

function fromXtext(text: string): string {
  return text.replace(/\+([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

describe('toXtext', () => {
  it.each([
    ['user@example.org', 'user@example.org'],
    ['first+tag@example.org', 'first+2Btag@example.org'],
    ['a=b@example.org', 'a+3Db@example.org'],
    ['"two words"@example.org', '"two+20words"@example.org'],
    ['\r\n\0\x7f', '+0D+0A+00+7F'],
  ])('writes %j as %j', (text, xtext) => {
    expect(toXtext(text)).toBe(xtext);
  });

  it('can be read back, and holds nothing that could end a parameter', () => {
    const ascii = fc.string({ unit: fc.integer({ min: 0, max: 0x7f }).map((code) => String.fromCharCode(code)) });
    fc.assert(
      fc.property(ascii, (text) => {
        const xtext = toXtext(text);
        expect(xtext).toMatch(/^(?:[!-*,-<>-~]|\+[0-9A-F]{2})*$/);
        expect(fromXtext(xtext)).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the parameters', () => {
  it('ask for success and failure', () => {
    expect(dsnMailParameters('an-id', OFFERED)).toBe(' RET=HDRS ENVID=an-id');
    expect(dsnRcptParameters('an-id', 'a+b@example.org', OFFERED)).toBe(
      ' NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;a+2Bb@example.org',
    );
  });

  it('are left out when they are neither wanted nor offered', () => {
    for (const [id, offered] of [[undefined, OFFERED] as const, ['an-id', NO_CAPABILITIES] as const]) {
      expect(dsnMailParameters(id, offered)).toBe('');
      expect(dsnRcptParameters(id, 'a@example.org', offered)).toBe('');
    }
  });

  it.each([['bücher@example.org'], [`${'+'.repeat(170)}@example.org`]])(
    'name no original recipient %j',
    (recipient) => {
      expect(dsnRcptParameters('an-id', recipient, OFFERED)).toBe(' NOTIFY=SUCCESS,FAILURE');
    },
  );
});
