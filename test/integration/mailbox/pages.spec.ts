import { startMailboxApp, type MailboxApp } from './mailbox-app';

describe('the pages', () => {
  let app: MailboxApp;
  beforeAll(async () => void (app = await startMailboxApp()));
  afterAll(() => app.close());

  it('explain an empty mailbox', async () => {
    const response = await app.get('/mailbox');
    expect(await response.text()).toContain('curl');
    console.log(response.status, Object.fromEntries(response.headers));
  });
});
