import { readHeader } from '../../../common/mime/mime-message';
import { marksOf, ownEmailId } from './mail-marks';

const marks = (header: string, sender = 'ada@example.com') => marksOf(readHeader(`${header}\r\n\r\n`).fields, sender);

describe('marksOf', () => {
  it.each([
    ['Subject: hello', []],
    ['Auto-Submitted: no', []],
    ['Auto-Submitted: auto-replied (vacation)', ['auto_submitted']],
    ['Auto-Submitted: auto-generated; owner-email="a@b.example"', ['auto_submitted']],
    ['X-Autoreply: yes', ['auto_submitted']],
    ['Precedence: bulk', ['bulk']],
    ['Precedence: first-class', []],
    ['List-Id: <news.example.com>', ['list']],
    ['List-Unsubscribe: <mailto:a@b.example>\r\nPrecedence: list', ['bulk', 'list']],
    ['Received: by a\r\n'.repeat(51).trimEnd(), ['loop']],
    ['Received: by a\r\n'.repeat(50).trimEnd(), []],
  ])('%j', (header, expected) => expect(marks(header)).toEqual(expected));

  it('takes the null sender for a machine, and one of ours for a loop', () => {
    expect(marks('Subject: x', '')).toEqual(['auto_submitted']);
    expect(marks('Subject: x', `b+${'a'.repeat(55)}@bounce.example.com`)).toEqual(['loop']);
  });
});

it('ownEmailId knows the form of our own', () => {
  const idOf = (messageId: string) => ownEmailId(readHeader(`Message-ID: ${messageId}\r\n\r\n`).fields);
  expect(idOf('<0192f3a0-1111-7abc-8def-0123456789ab@example.com>')).toBe('0192f3a0-1111-7abc-8def-0123456789ab');
  expect(idOf('<0192f3a0-1111-4abc-8def-0123456789ab@example.com>')).toBeUndefined();
  expect(idOf('<a@example.com>')).toBeUndefined();
});
