import fc from 'fast-check';
import { mutate, mutationsWith } from '../../corpus/mutate-message';
import { withoutStall } from './event-loop';

/** `npm run fuzz` has 50,000 of them, from a seed of its own. */
const INPUTS = Number(process.env.FUZZ_INPUTS ?? 2_000);
const SEED = Number(process.env.FUZZ_SEED ?? (process.env.FUZZ_INPUTS ? Date.now() % 2 ** 31 : 1));
const KINDS = 10;
/** What the test itself does with more would take as long as what it measures. */
const MAX_BYTES = 128 * 1024;

const WORDS = [
  ...['\r\n', '\n', '\r', '\0', ' ', ':', '"', '\\', '{', '[', ']', '}', ',', '%00', '%', '\r\n\r\n', '\r\n.\r\n'],
  ...['\ud83d\ude00', '\u00ff\u00fe', '[[[['.repeat(500), '{"a":'.repeat(500), 'x'.repeat(5_000), '\\ud800', '1e999'],
  ...['Content-Length: 1\r\n', 'Transfer-Encoding: chunked\r\n', 'Expect: 100-continue\r\n', 'HTTP/1.0', 'HTTP/9.9'],
  ...['250 ok\r\n', '250-', '354 go\r\n', '421 bye\r\n', '\\TURN', 'MAIL FROM:<>\r\n', 'DATA\r\n', 'BDAT 1 LAST\r\n'],
  ...[
    '--b\r\n',
    '--b--',
    'Content-Type: multipart/mixed; boundary=b\r\n\r\n',
    '=?utf-8?B?',
    '\xc0\x0c',
    '\x00\x10\x00\x01',
  ],
  ...['=', '==', '&#', 'a@b.example', '<', '>', '\\(', '"'.repeat(900), '('.repeat(900)],
];

/**
 * Runs inputs that are made from the seed. A failure prints the seed and the smallest input.
 * @param share of as many inputs as `feed` runs
 */
export async function feedMade<Input>(
  made: fc.Arbitrary<Input>,
  take: (input: Input) => Promise<unknown>,
  { atOnce, share }: { readonly atOnce: number; readonly share: number },
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(made, { minLength: atOnce, maxLength: atOnce }), async (group) => {
      const name = () => JSON.stringify(group).slice(0, 2_000 * atOnce);
      await withoutStall(name, async () => void (await Promise.all(group.map(take))));
    }),
    { numRuns: Math.ceil((INPUTS * share) / KINDS / atOnce), seed: SEED },
  );
}

/**
 * Runs a share of all inputs: those of the corpus first, then altered ones. A failure prints the seed and the smallest input.
 * @param atOnce where a peer takes its time
 */
export async function feed(
  corpus: readonly Buffer[],
  take: (input: Buffer) => Promise<void>,
  atOnce = 1,
): Promise<void> {
  for (const [index, input] of corpus.entries()) {
    await withoutStall(
      () => `input ${index} of the corpus`,
      () => take(input),
    );
  }
  const any = fc.constantFrom(...corpus);
  const altered = fc
    .tuple(any, any, mutationsWith(WORDS))
    .map(([input, other, changes]) => mutate(input, other, changes).subarray(0, MAX_BYTES));
  await fc.assert(
    fc.asyncProperty(fc.array(altered, { minLength: atOnce, maxLength: atOnce }), async (group) => {
      const name = () => JSON.stringify(group.map((bytes) => bytes.toString('latin1', 0, 2_000)));
      await withoutStall(name, async () => void (await Promise.all(group.map(take))));
    }),
    { numRuns: Math.ceil(INPUTS / KINDS / atOnce), seed: SEED },
  );
}
