import fc from 'fast-check';
import PostalMime from 'postal-mime';
import type { Email } from 'postal-mime';
import { composeMessage } from '../../src/delivery/message/compose-message';
import type { CompleteMessage } from '../../src/delivery/ports/sources';
import { anyCharacter } from './any-character';

export const PIXEL = Buffer.from('89504e470d0a1a0a', 'hex');

export function message(parts: Partial<CompleteMessage> = {}): CompleteMessage {
  return {
    organizationId: 'org',
    mode: 'live',
    emailId: '0192f3a0-1111-7abc-8def-0123456789ab',
    domainId: 'domain',
    date: new Date('2027-03-04T05:06:07Z'),
    from: { email: 'shop@mail.example', name: 'Shop' },
    to: [{ email: 'ann@b.example', name: 'Ann' }],
    cc: [],
    replyTo: [],
    subject: 'Hello',
    text: 'Good day',
    trackOpens: false,
    trackClicks: false,
    headers: {},
    bodyBytes: 8,
    isBodyLoaded: true,
    attachmentBytes: 0,
    attachments: [],
    ...parts,
  };
}

/** Checks that hold for every message on the wire, whatever its content. */
export function expectSound(bytes: Buffer): void {
  const text = bytes.toString('latin1');
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  expect(text.endsWith('\r\n')).toBe(true);
  expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
  for (const line of text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n')) expect(line).toMatch(/[^ \t]/);
}

export async function compose(parts: Partial<CompleteMessage>): Promise<Email> {
  const bytes = await composeMessage(message(parts));
  expectSound(bytes);
  expect(bytes.toString('latin1')).not.toMatch(/[^\t\n\r\x20-\x7e]/);
  return PostalMime.parse(bytes);
}

/** Normalises line ends and removes the one at the end, which a body part or the parser may add. */
export function lines(text: string | undefined): string {
  return (text ?? '').replace(/\r\n|\r|\n/g, '\n').replace(/\n+$/, '');
}

export const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 120 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc
    .array(
      fc.constantFrom(' ', '\t', '\n', '\r\n', '\r', '.', 'From ', '--=_', '=', '=?', '?=', 'word', 'é', '字', '🦄'),
      { maxLength: 80 },
    )
    .map((parts) => parts.join('')),
);
/** Without the characters that headers cannot carry; those have their own test. */
export const headerText = anyText.map((text) => text.replace(/[\x00-\x1f\x7f-\x9f]/g, ''));
export const bodyText = anyText.filter((text) => text !== '');
