import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { relaxedBodyHash } from './relaxed-body';

/** RFC 6376 section 3.4.4, word for word. */
function reference(body: string): string {
  const lines = body.split('\r\n').map((line) => line.replace(/[\t ]+/g, ' ').replace(/ $/, ''));
  while (lines.at(-1) === '') lines.pop();
  const text = lines.map((line) => `${line}\r\n`).join('');
  return createHash('sha256').update(text, 'latin1').digest('base64');
}

describe('relaxedBodyHash', () => {
  const piece = fc.constantFrom(' ', '\t', '\r\n', 'a', 'word', '.', '\0', '\x0b', '\xa0', '\xe9', ' \r\n', '\r\n\r\n');
  const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));

  it('agrees with the text of the standard', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (body) => {
        expect(await relaxedBodyHash(Buffer.from(body, 'latin1'), 0)).toBe(reference(body));
      }),
      { numRuns: 2_000 },
    );
  });

  it('agrees with it across slices', async () => {
    await fc.assert(
      fc.asyncProperty(text, fc.nat(60), fc.nat(60), async (body, before, after) => {
        const long = `${'x'.repeat(65_536 - before)}${body}${' '.repeat(after)}${'\r\n'.repeat(70_000)}${body}`;
        expect(await relaxedBodyHash(Buffer.from(long, 'latin1'), 0)).toBe(reference(long));
      }),
      { numRuns: 40 },
    );
  });

  it('begins at the given offset', async () => {
    expect(await relaxedBodyHash(Buffer.from('From: a\r\n\r\nbody\r\n'), 11)).toBe(reference('body\r\n'));
    expect(await relaxedBodyHash(Buffer.from('From: a\r\n\r\n'), 11)).toBe(
      '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
    );
  });
});
