import { checkEgress } from '../../../src/cli/doctor/egress';
import { SmtpSink } from '../../doubles/smtp-sink';

const LIMIT_MS = 200;
const sinks: SmtpSink[] = [];
afterEach(async () => {
  for (const sink of sinks.splice(0)) await sink.stop();
});

async function targetOf(options: Parameters<typeof SmtpSink.start>[0], addresses = ['127.0.0.1']) {
  const sink = await SmtpSink.start(options);
  sinks.push(sink);
  return { host: 'mx.example', port: sink.port, addresses };
}

describe('source addresses', () => {
  it('is open when one of the addresses greets', async () => {
    // The other loopback address has no listener.
    const finding = await checkEgress(await targetOf({}, ['127.0.0.2', '127.0.0.1']), LIMIT_MS);
    expect(finding).toMatchObject({ status: 'ok', message: expect.stringMatching(/^mx\.example:\d+ greets: 220 /) });
  });

  it('is not open when the connection is taken and no greeting comes', async () => {
    const finding = await checkEgress(await targetOf({ banner: '' }), LIMIT_MS);
    expect(finding).toMatchObject({ status: 'problem', message: expect.stringContaining('no answer within 0.2 s') });
    expect(finding.message).toContain('ask its provider');
  });

  it('is not evaluated without a server to try', async () => {
    await expect(checkEgress('example.org: The domain does not exist.')).resolves.toMatchObject({
      status: 'warning',
      message: expect.stringContaining('--smtp-host'),
    });
  });
});
