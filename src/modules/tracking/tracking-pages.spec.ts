import { createHash } from 'node:crypto';
import { PAGE_HEADERS } from '../../common/http/responses/html-page';
import { donePage, problemPage, questionPage } from './tracking-pages';

const EVIL = `</title></style></form>"'><script>alert(1)</script><img src=x onerror=alert(1)>`;

describe('the pages', () => {
  const subscription = { senderDomain: EVIL, maskedAddress: EVIL };
  const pages = [questionPage(subscription), donePage(subscription), problemPage('resource_not_found')];

  it('hold no tag that an address brought, and load nothing', () => {
    for (const page of pages) {
      expect(page).not.toMatch(/<(script|img|link|iframe|a)\b/);
      expect(page.match(/<\/title>/g)).toHaveLength(1);
      expect(page.match(/<\/style>/g)).toHaveLength(1);
    }
  });

  it('have the style that their policy permits, and no other', () => {
    for (const page of pages) {
      const style = /<style>([^]*)<\/style>/.exec(page)?.[1] ?? '';
      const hash = createHash('sha256').update(style).digest('base64');
      expect(PAGE_HEADERS['content-security-policy']).toContain(`style-src 'sha256-${hash}';`);
    }
  });

  it('tell a broken link from a broken service', () => {
    expect(problemPage('resource_not_found')).toContain('This link does not work');
    expect(problemPage('service_unavailable')).toContain('try again');
  });
});
