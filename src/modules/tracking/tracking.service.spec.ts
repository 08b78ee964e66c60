import type { MailRecipient } from '../emails/email-lookup.service';
import { UnsubscribeService } from './tracking.service';

type Dependencies = ConstructorParameters<typeof UnsubscribeService>;

/** Whose look-ups hang; `begun` has the organizations of those that began. A token is the organization's number. */
function serviceOf() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const links = {
    read: (_kind: string, token: string) => ({
      organizationOrdinal: Number(token),
      mode: 'live',
      emailId: 'e',
      position: 0,
    }),
    keyOf: ({ organizationOrdinal }: { organizationOrdinal: number }) =>
      Promise.resolve({ organizationId: `${organizationOrdinal}` }),
  };
  const recipients = {
    findRecipient: async ({ organizationId }: { organizationId: string }) => {
      begun.push(organizationId);
      await new Promise<void>((resolve) => ends.push(resolve));
      return { fromEmail: 'shop@acme.example', address: 'ann@x.example' } as MailRecipient;
    },
  };
  const others = [links, recipients, {}, {}, {}] as unknown as Dependencies;
  return {
    service: new UnsubscribeService(...others),
    begun,
    end: () => ends.splice(0).forEach((resolve) => resolve()),
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('UnsubscribeService', () => {
  it('looks up one page of an organization at a time, beside those of others', async () => {
    const { service, begun, end } = serviceOf();
    const loud = Array.from({ length: 40 }, () => service.find('1'));
    await settled();
    expect(begun).toEqual(['1']);
    const quiet = service.find('2');
    await settled();
    expect(begun).toEqual(['1', '2']);
    let found = 0;
    for (const one of [...loud, quiet]) void one.then(() => (found += 1));
    for (let round = 0; round < 40; round += 1) {
      end();
      await settled();
    }
    expect([found, begun.length]).toEqual([41, 41]);
  });

  it('unsubscribes beside any number of pages of one link', async () => {
    const { service, begun } = serviceOf();
    const pages = Array.from({ length: 600 }, () => service.find('1'));
    for (const page of pages) page.catch(() => undefined);
    void service.unsubscribe('1', 'one-click');
    await settled();
    expect(begun).toEqual(['1', '1']);
  });

  it('refuses what would only fill memory', async () => {
    const { service, begun } = serviceOf();
    const waiting = Array.from({ length: 502 }, () => service.unsubscribe('1', 'one-click'));
    for (const one of waiting) one.catch(() => undefined);
    await expect(service.unsubscribe('1', 'one-click')).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    await settled();
    expect(begun).toHaveLength(2);
  });
});
