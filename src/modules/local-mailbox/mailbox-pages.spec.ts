import type { ListedMessage } from './mailbox.service';
import { displayBody, fileSize } from './page-layout';
import { listPage, messagePage } from './mailbox-pages';

const EVIL = `</title></style></iframe>"'><script>alert(1)</script><img src=x onerror=alert(1)>`;
const FIRST_STEPS = { publicUrl: `https://x.example/${EVIL}`, credentialsFile: `./${EVIL}` };
const MESSAGE: ListedMessage = {
  id: '0192f3a0-1111-7abc-8def-0123456789ab',
  receivedAt: new Date('2026-03-04T05:06:07.890Z'),
  returnPath: EVIL,
  recipients: [EVIL, EVIL],
  sender: EVIL,
  subject: EVIL,
  size: 1_536,
};

/** The tags of a page, as a parser would see them begin. */
function tagsOf(page: string): Set<string> {
  return new Set([...page.matchAll(/<([a-z0-9]+)/gi)].map((match) => match[1] ?? ''));
}

describe('the pages', () => {
  it('hold no tag that a message or a configuration brought', () => {
    const head = [{ name: EVIL, value: EVIL }];
    const part = { filename: EVIL, type: EVIL, contentId: EVIL, bytes: Buffer.alloc(3) };
    const pages = [
      listPage({ messages: [MESSAGE], page: 2, pageCount: 3, total: 101, search: EVIL }, FIRST_STEPS),
      listPage({ messages: [], page: 1, pageCount: 1, total: 0, search: '' }, FIRST_STEPS),
      messagePage({ message: MESSAGE, head, content: { kind: 'parts', html: EVIL, text: EVIL, attachments: [part] } }),
      messagePage({ message: MESSAGE, head, content: { kind: 'too-large' } }),
    ];
    for (const page of pages) {
      const tags = tagsOf(page);
      for (const tag of ['script', 'img', 'style']) expect(tags).not.toContain(tag);
      expect(page.match(/<\/title>/g)).toHaveLength(1);
    }
  });

  it('name what has no name', () => {
    const bare = { ...MESSAGE, sender: '', returnPath: '', subject: '', recipients: ['a@example.com'] };
    const list = listPage({ messages: [bare], page: 1, pageCount: 1, total: 1, search: '' }, FIRST_STEPS);
    expect(list).toContain('(no subject)');
    expect(list).toContain('(unknown)');
    expect(list).toContain('1 message, newest first');
    const page = messagePage({ message: bare, head: [], content: { kind: 'too-large' } });
    expect(page).toContain('<dt>Return path</dt><dd><bdi>&lt;&gt;</bdi></dd>');
    expect(page).toContain('too large to be parsed');
  });

  it.each([
    [0, '0 B'],
    [1_023, '1023 B'],
    [1_536, '1.5 KB'],
    [10 * 1_024 * 1_024, '10.0 MB'],
  ])('write %d bytes as %s', (bytes, text) => {
    expect(fileSize(bytes)).toBe(text);
  });
});

describe('displayBody', () => {
  it('cuts a long text, whatever its line ends', () => {
    expect(displayBody('\r\n'.repeat(1_000), 100)).toBe(`${'\n'.repeat(99)}…`);
    expect(displayBody('\r\n'.repeat(100), 100)).toBe('\n'.repeat(100));
    expect(displayBody(`${'\r\n'.repeat(100)}x`, 100)).toBe(`${'\n'.repeat(99)}…`);
  });
});
