import fc from 'fast-check';
import { mutate, mutations } from '../../../../test/corpus/mutate-message';
import { corpusNames, readCorpus } from '../../../../test/corpus/reports-corpus';
import { MAXIMUM_RESPONSE_LENGTH } from './evaluate-failure';
import { parseReport } from './parse-report';
import type { Report } from './report';
import { anyCharacter } from '../../../../test/factories/any-character';

const KINDS = ['bounce', 'delivered', 'delayed', 'relayed', 'expanded', 'complaint', 'ignored'];
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

const corpus = new Map(corpusNames().map((name) => [name, readCorpus(name)]));
const arbitraryMessage = fc.constantFrom(...corpus.values());

function expectPrintable(text: string | undefined, maxLength: number): void {
  if (text === undefined) return;
  expect(text.length).toBeLessThanOrEqual(maxLength);
  expect(text).not.toMatch(UNPRINTABLE);
  expect(text).not.toBe('');
}

function expectSound(report: Report): void {
  expect(KINDS).toContain(report.kind);
  if ('response' in report) expectPrintable(report.response, MAXIMUM_RESPONSE_LENGTH);
  if ('remoteHost' in report) expectPrintable(report.remoteHost, 255);
  if (report.kind === 'bounce') expectSoundBounce(report);
  if (report.kind !== 'complaint') return;
  expectPrintable(report.reportingSystem, 100);
  expectPrintable(report.original?.listUnsubscribe, 1000);
}

function expectSoundBounce(report: Extract<Report, { kind: 'bounce' }>): void {
  expect(report.suppress && report.bounceType === 'soft').toBe(false);
  expect(report.enhancedCode ?? '5.0.0').toMatch(/^[245]\.\d{1,3}\.\d{1,3}$/);
  expect(report.code ?? 550).toBeGreaterThanOrEqual(400);
  expect(report.code ?? 550).toBeLessThan(600);
  expectPrintable(report.finalRecipient, 320);
}

// A failure prints the seed and the smallest message; both can be given to fc.assert to see it again.
describe('parseReport on hostile bytes', () => {
  it('returns a result for 10,000 altered messages of the corpus', () => {
    const property = fc.property(arbitraryMessage, arbitraryMessage, mutations, (message, other, changes) => {
      expectSound(parseReport(mutate(message, other, changes)));
    });
    fc.assert(property, { numRuns: 10_000 });
  });

  it('returns a result for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), (bytes) => expectSound(parseReport(Buffer.from(bytes)))),
      { numRuns: 1000 },
    );
  });

  it('returns a result for any diagnostic text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter, maxLength: 1500 }),
        fc.constantFrom('failed', 'delivered'),
        (text, action) => {
          const status = `Final-Recipient: rfc822; ann@example.org\nAction: ${action}\nDiagnostic-Code: smtp; ${text}`;
          expectSound(parseReport(Buffer.from(`Content-Type: message/delivery-status\n\n${status}\n`)));
        },
      ),
      { numRuns: 1000 },
    );
  });
});
