import fc from 'fast-check';
import { loopTurnsOf } from '../../../../test/setup/loop-turns';
import { progressOf, REDACTED, redactOthers, toParts } from './export-items';

const ADA = 'ada@example.com';

describe('redactOthers', () => {
  it('redacts the names of fields, and keeps them apart', () => {
    const value = { 'bob@example.org': 'approved', 'carol@example.org': 1, [ADA]: 2, by: { 'dan@example.org': 3 } };
    expect(redactOthers(value, ADA)).toEqual({
      ...{ [REDACTED]: 'approved', [`${REDACTED}-2`]: 1, [ADA]: 2 },
      by: { [REDACTED]: 3 },
    });
  });

  it.each([
    ['550 <bob@example.com>: no such user', '550 <[redacted]>: no such user'],
    ['forwarded to bob@example.com.', 'forwarded to [redacted]'],
    ['Ada@Example.com, bob@example.com', 'Ada@Example.com, [redacted]'],
    ['250 OK ada@example.com.', '250 OK ada@example.com.'],
    ['https://x.example/?to=bob%40example.com&id=7', 'https://x.example/?to=[redacted]&id=7'],
    ['https://x.example/?to=ada%40example.com', 'https://x.example/?to=ada%40example.com'],
    ['jörg@bücher.example', '[redacted]'],
    ['%zz@example.com', '[redacted]'],
    ['no address @ all', 'no address @ all'],
  ])('%s', (text, expected) => {
    expect(redactOthers(text, ADA)).toBe(expected);
  });

  it('leaves every other value, and the shape, as they are', () => {
    const value = {
      code: 550,
      tls: true,
      nothing: null,
      list: [ADA, 'bob@x.example'],
      deep: { recipient: 'Bob <b@x.example>' },
    };
    expect(redactOthers(value, ADA)).toEqual({
      ...value,
      list: [ADA, REDACTED],
      deep: { recipient: 'Bob <[redacted]>' },
    });
  });

  it('shows no address of another, whatever stands around it', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), fc.string({ maxLength: 40 }), (before, after) => {
        const redacted = redactOthers({ text: `${before} bob@example.org ${after}` }, ADA);
        expect(JSON.stringify(redacted)).not.toContain('bob@example.org');
      }),
    );
  });

  it('looks through a long text once', () => {
    const long = `${'a'.repeat(500_000)} ${'b@'.repeat(100_000)}`;
    expect(redactOthers(long, ADA)).toContain('aaa');
  });
});

const items = fc.array(fc.record({ text: fc.string({ unit: 'grapheme', maxLength: 50 }) }), { maxLength: 40 });

describe('toParts', () => {
  it('keeps all items in order, in parts that are full but not too big', async () => {
    await fc.assert(
      fc.asyncProperty(items, fc.integer({ min: 1, max: 400 }), async (given, maxBytes) => {
        const parts = (await toParts(given, maxBytes)).map(String);
        expect(parts.flatMap((part) => part.split('\n').map((line) => JSON.parse(line) as unknown))).toEqual(given);
        for (const part of parts) expect(Buffer.byteLength(part) < maxBytes || !part.includes('\n')).toBe(true);
        for (const [index, part] of parts.slice(1).entries()) {
          const [first = ''] = part.split('\n');
          expect(Buffer.byteLength(`${parts[index]}\n${first}\n`)).toBeGreaterThan(maxBytes);
        }
      }),
    );
  });

  it('leave others their turns while long texts are written', async () => {
    const item = { htmlBody: '\u0001'.repeat(5 * 1024 * 1024) };
    expect(await loopTurnsOf(() => toParts([item], 1_000))).toBeGreaterThan(50);
  });
});

it('a request that has not been worked at begins before all emails', () => {
  expect(progressOf({ progress: {} })).toEqual({
    after: '00000000-0000-0000-0000-000000000000',
    parts: { emails: 0, events: 0, suppressions: 0 },
    items: { emails: 0, events: 0, suppressions: 0 },
    bytes: 0,
  });
});
