import { AddressFinder } from '../../../src/common/erasure/address-finder';
import { bytesHold } from '../../../src/common/erasure/byte-search';
import { NodeDnsResolver } from '../../../src/common/dns/node-dns-resolver';
import { SMTP_TIMEOUTS, type SmtpTimeouts } from '../../../src/delivery/smtp/conversation/smtp-timeouts';
import { parseReport } from '../../../src/modules/inbound-reports/parsing/parse-report';
import { parseMessage, readHead, summarize } from '../../../src/modules/local-mailbox/message-reader';
import { type HostileKind, hostileInputs } from '../../corpus/hostile-corpus';
import { corpusNames, readCorpus } from '../../corpus/reports-corpus';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { ALL_SCOPES } from '../../../src/common/http/scopes';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { ApiClient } from '../../e2e/kit/api-client';
import { DomainsApp } from '../domains/domains-app';
import { DkimZoneApp, RECORD, framed, textOf, ZONE } from '../dkim-zone/dkim-zone-app';
import { InboundApp, MAIL_HOST } from '../inbound-smtp/inbound-app';
import { MailboxApp } from '../local-mailbox/mailbox-app';
import { endpointOf, send, SmtpClients } from '../smtp/smtp-client-kit';
import { SubmissionApp } from '../submission/submission-app';
import { clientDialogues, serverDialogues, smugglingDialogues } from '../../corpus/smtp-dialogues';
import { feed, feedMade } from './feed';
import { deliverTo, smuggle, talk } from './smtp-dialogues';
import { exchangeBytes, HostileDnsServer, HostileSmtpServer, sendDatagram } from './hostile-peers';

const MAX_DATAGRAM = 60_000;
/** The quotas are not what is tried here. */
const LIMITS = {
  ...{ maxFeedbackPerHour: 1_000_000, maxFeedbackInAll: 1_000_000 },
  ...{ maxReportsPerDelivery: 1_000_000, maxOpenReports: 1_000_000 },
};
const SUBMISSION_LIMITS = { maxFailures: 1_000_000, maxSessionsOfClient: 500 };
const DOMAIN = 'fuzz.example';
const TIMEOUT_MS = 60 * 60_000;
/** For a reply to a request that is complete. */
const LONG_PATIENCE_MS = 2_000;

/** With a sender that the key may use, so that it is not refused before anything is read. */
function fromOurs(message: string): string {
  const from = `From: a@${DOMAIN}`;
  return /^From:/im.test(message) ? message.replace(/^From:.*$/im, from) : `${from}\r\n${message}`;
}

const inputs = (kind: HostileKind, fillings = {}) => hostileInputs(kind, fillings);

describe('whatever comes over the wire', () => {
  describe('HTTP', () => {
    let app: DomainsApp;
    let key: string;
    let api: ApiClient;
    let template: string;
    beforeAll(async () => {
      app = await DomainsApp.start();
      const { organizationId } = await app.owner();
      ({ key } = await app.get(ApiKeysService).create(organizationId, { name: 'x', mode: 'live', scopes: ALL_SCOPES }));
      const domains = app.get(DomainsService);
      await domains.add(organizationId, DOMAIN);
      await domains.markVerified(organizationId, DOMAIN);
      api = new ApiClient(app.port, key);
      template = (await api.post('/v1/templates', { name: 'fuzz', subject: 's', text: 't' })).body.data.id;
    });
    afterAll(() => app.close());

    it(
      'gets a response below 500',
      async () => {
        const seen = new Set<string>();
        const submit = async (bytes: Buffer, patienceMs?: number) => {
          const received = await exchangeBytes(app.port, bytes, { patienceMs });
          expect(received).not.toMatch(/^HTTP\/1\.[01] 5/m);
          for (const [, status = ''] of received.matchAll(/^HTTP\/1\.[01] (\d+)/gm)) seen.add(status);
        };
        const corpus = inputs('http', { KEY: key, TEMPLATE: template });
        await feed(corpus, (bytes) => submit(bytes), 10);
        // Until the requests have ended, which takes longer than that on a busy machine.
        const wanted = ['200', '201', '202', '400', '404'];
        for (const bytes of corpus) {
          if (!wanted.every((status) => seen.has(status))) await submit(bytes, LONG_PATIENCE_MS);
        }
        expect([...seen]).toEqual(expect.arrayContaining(wanted));
        expect((await api.get('/v1/emails')).status).toBe(200);
      },
      TIMEOUT_MS,
    );

    it(
      'takes or refuses a raw message',
      async () => {
        const seen = new Set<number>();
        const submit = async (bytes: Buffer) => {
          const raw = Buffer.from(fromOurs(bytes.toString('latin1')), 'latin1').toString('base64');
          seen.add((await api.post('/v1/emails/raw', { raw, to: ['b@x.example'] })).status);
        };
        await feed(inputs('mime'), submit);
        expect(seen).toContain(202);
        expect([...seen].filter((status) => ![202, 400, 413, 422].includes(status))).toEqual([]);
      },
      TIMEOUT_MS,
    );

    it(
      'takes or refuses a template, and what it makes',
      async () => {
        const seen = new Set<number>();
        const path = `/v1/templates/${template}`;
        const variables = { name: '<b>"\r\n\u2028', items: [1, '', null, [], {}], order: { number: 1e308 } };
        const submit = async (bytes: Buffer) => {
          const text = bytes.toString('utf8');
          const changed = await api.patch(path, { subject: text.slice(0, 200), html: text, text });
          const rendered = await api.post(`${path}/render`, { variables });
          for (const { status } of [changed, rendered]) seen.add(status);
        };
        await feed(inputs('liquid'), submit);
        expect(seen).toContain(200);
        expect([...seen].filter((status) => ![200, 400, 413, 422].includes(status))).toEqual([]);
      },
      TIMEOUT_MS,
    );
  });

  describe('SMTP clients', () => {
    let inbound: InboundApp;
    let mailbox: MailboxApp;
    let submission: SubmissionApp;
    let fillings: Record<string, string>;
    let key: string;
    beforeAll(async () => {
      inbound = await InboundApp.start(LIMITS);
      mailbox = await MailboxApp.start();
      submission = await SubmissionApp.start({ RATE_LIMIT_ENABLED: 'false' }, SUBMISSION_LIMITS);
      ({ key } = await submission.sender(DOMAIN));
      const login = Buffer.from(`\0waybill\0${key}`).toString('base64');
      fillings = { TOKEN: inbound.issue(), ROUTE: await inbound.route(`in@${DOMAIN}`), LOGIN: login };
    });
    afterAll(async () => {
      await inbound.close();
      await mailbox.close();
      await submission.close();
    });

    it.each([
      ['the bounce listener', () => inbound.port],
      ['the mailbox', () => mailbox.smtpPort],
      ['submission', () => submission.ports.port],
    ])(
      'leave %s as it was',
      async (_name, portOf) => {
        await feed(
          inputs('smtp-client', fillings),
          async (bytes) => {
            expect(await exchangeBytes(portOf(), bytes, { isGreeted: true })).toMatch(/^(?:220|421)[ -]/);
          },
          20,
        );
        expect(await inbound.deliver('Subject: x\r\n\r\ny', `${inbound.issue()}@${MAIL_HOST}`)).toMatch(/^250/);
        expect(await mailbox.deliver(Buffer.from('x'), ['a@x.example'])).toBeDefined();
      },
      TIMEOUT_MS,
    );

    it.each([
      ['the bounce listener', () => inbound.port],
      ['submission', () => submission.ports.port],
    ])(
      'have %s reply in SMTP, whatever the order of their commands',
      async (_name, portOf) => {
        await feedMade(clientDialogues, (pieces) => talk(portOf(), pieces), { atOnce: 40, share: 0.5 });
      },
      TIMEOUT_MS,
    );

    it(
      'smuggle no message behind another one',
      async () => {
        const countOf = async () => (await inbound.feedback()).length;
        const before = await countOf();
        const taken: boolean[] = [];
        await feedMade(
          smugglingDialogues,
          async (dialogue) => {
            taken.push(await smuggle(await inbound.client(), `postmaster@${MAIL_HOST}`, dialogue));
            const client = await submission.session(key);
            expect(await smuggle(client, 'b@x.example', dialogue)).toBe(false);
          },
          { atOnce: 10, share: 0.2 },
        );
        expect(taken).toContain(true);
        expect((await countOf()) - before).toBe(taken.filter(Boolean).length);
      },
      TIMEOUT_MS,
    );

    it('come as far as the end of a message', async () => {
      const whole = (word: string) => (input: Buffer) => input.includes(word) && input.includes('QUIT');
      const { TOKEN = '', ROUTE = '', LOGIN = '' } = fillings;
      const ports = { [TOKEN]: inbound.port, [ROUTE]: inbound.port, [LOGIN]: submission.ports.port };
      for (const [word, port] of Object.entries(ports)) {
        for (const bytes of inputs('smtp-client', fillings).filter(whole(word))) {
          await exchangeBytes(port, bytes, { isGreeted: true, patienceMs: 5_000 });
        }
      }
      for (const table of ['inbound_reports', 'inbound_emails']) {
        expect([table, await inbound.dataSource.query(`select id from ${table} limit 1`)]).toEqual([
          table,
          [{ id: expect.anything() }],
        ]);
      }
      expect(await submission.db.query('select id from emails limit 1')).toHaveLength(1);
    });
  });

  describe('SMTP servers', () => {
    const clients = new SmtpClients();
    const second = Object.keys(SMTP_TIMEOUTS).map((phase) => [phase, 0.3]);
    const timeouts = Object.fromEntries(second) as SmtpTimeouts;
    let server: HostileSmtpServer;
    beforeAll(async () => {
      server = await HostileSmtpServer.start();
    });
    afterAll(() => server.stop());

    it(
      'that reply as they like get no mail delivered that they have not taken, and none twice',
      async () => {
        const seen = new Set<string>();
        await feedMade(serverDialogues, async (dialogue) => seen.add(await deliverTo(dialogue)), {
          atOnce: 25,
          share: 0.7,
        });
        expect([...seen].sort()).toEqual(['accepted', 'failed', 'rejected']);
      },
      TIMEOUT_MS,
    );

    it(
      'give a result',
      async () => {
        await feed(inputs('smtp-server'), async (bytes) => {
          server.say(bytes);
          const connection = clients.connection(endpointOf(server.port), { timeouts });
          const result = (await connection.open()) ?? (await send(connection));
          expect(result).toMatchObject({ kind: expect.any(String) });
          clients.destroyAll();
        });
      },
      TIMEOUT_MS,
    );
  });

  describe('mail', () => {
    const finder = new AddressFinder('a@b.example');

    it(
      'is read by all that reads it',
      async () => {
        const reports = corpusNames().map(readCorpus);
        await feed([...inputs('mime'), ...reports], async (bytes) => {
          expect(parseReport(bytes)).toMatchObject({ kind: expect.any(String) });
          expect(summarize(bytes)).toMatchObject({ subject: expect.any(String) });
          expect(readHead(bytes).length).toBeGreaterThanOrEqual(0);
          expect(['parts', 'too-large']).toContain((await parseMessage(bytes)).kind);
          expect([true, false]).toContain(await bytesHold(finder, bytes));
        });
      },
      TIMEOUT_MS,
    );
  });

  describe('DNS', () => {
    let zone: DkimZoneApp;
    let name: string;
    let server: HostileDnsServer;
    beforeAll(async () => {
      zone = await DkimZoneApp.start();
      name = `wb1.${await zone.publish()}.${ZONE}`;
      server = await HostileDnsServer.start();
    });
    afterAll(async () => {
      server.stop();
      await zone.close();
    });

    it(
      'questions leave the responder as it was',
      async () => {
        await feed(
          inputs('dns-query'),
          async (bytes) => {
            await sendDatagram(zone.port, bytes);
            await exchangeBytes(zone.port, framed(bytes));
            expect(textOf(await zone.ask(name))).toBe(RECORD);
          },
          10,
        );
      },
      TIMEOUT_MS,
    );

    it(
      'responses give a result',
      async () => {
        const resolver = new NodeDnsResolver({ servers: [server.endpoint], queryTimeoutMs: 40 });
        await feed(inputs('dns-answer'), async (bytes) => {
          server.say(bytes.subarray(0, MAX_DATAGRAM));
          const found = await Promise.all([
            resolver.resolveMx('x.example'),
            resolver.resolveAddresses('x.example'),
            resolver.resolveTxt('x.example'),
          ]);
          for (const answer of found) expect(answer).toMatchObject({ kind: expect.any(String) });
        });
      },
      TIMEOUT_MS,
    );
  });
});
