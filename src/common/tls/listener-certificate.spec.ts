import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { DAY } from '../clock';
import { OperatorError } from '../errors/app-error';
import { Metrics } from '../metrics/metrics';
import { ListenerCertificate } from './listener-certificate';
import { selfSigned } from './self-signed';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'waybill-certificate-'))));
afterAll(() => rmSync(folder, { recursive: true }));

const START = '2026-01-05T12:00:00.000Z';
const VALID_DAYS = 825;

function configured(clock: FakeClock) {
  const files = { certificateFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  const { cert, key } = selfSigned(new Date(START));
  writeFileSync(files.certificateFile, cert);
  writeFileSync(files.keyFile, key);
  const metrics = new Metrics();
  const expiry = async () => {
    const text = await metrics.registry.getSingleMetricAsString('waybill_tls_certificate_expiry_timestamp_seconds');
    return Number(/\{listener="test"\} (\d+)/.exec(text)?.[1]);
  };
  return { files, expiry, certificate: new ListenerCertificate('Test', { files }, clock, metrics) };
}

describe('a certificate that is configured', () => {
  it.each([
    [-1, 'error', 'is not valid before'],
    [VALID_DAYS - 15, undefined, ''],
    [VALID_DAYS - 13, 'warn', 'expires on'],
    [VALID_DAYS + 1, 'error', 'expired on'],
  ] as const)(
    'after %d days of its life is used, and a line says what is wrong with it',
    async (days, level, words) => {
      const spies = { warn: jest.spyOn(Logger.prototype, 'warn'), error: jest.spyOn(Logger.prototype, 'error') };
      for (const spy of Object.values(spies)) spy.mockClear().mockImplementation();
      const clock = new FakeClock(new Date(Date.parse(START) + days * DAY));
      await expect(configured(clock).certificate.load()).resolves.toBeDefined();
      for (const [name, spy] of Object.entries(spies)) {
        expect(spy.mock.calls).toEqual(name === level ? [[expect.stringContaining(words)]] : []);
      }
    },
  );

  it('has its expiry as a metric, which a new one changes', async () => {
    const { certificate, expiry, files } = configured(new FakeClock(new Date(START)));
    expect(await expiry()).toBeNaN();
    await certificate.load();
    const first = Date.parse(START) / 1_000 + (VALID_DAYS * DAY) / 1_000;
    expect(Math.abs((await expiry()) - first)).toBeLessThanOrEqual(DAY / 1_000);
    const { cert, key } = selfSigned(new Date(Date.parse(START) + 100 * DAY));
    writeFileSync(files.certificateFile, `${cert}\n`);
    writeFileSync(files.keyFile, `${key}\n`);
    const before = await expiry();
    await certificate.reload(() => undefined);
    expect((await expiry()) - before).toBe((100 * DAY) / 1_000);
    writeFileSync(files.certificateFile, 'none');
    jest.spyOn(Logger.prototype, 'error').mockImplementation();
    await certificate.reload(() => undefined);
    expect((await expiry()) - before).toBe((100 * DAY) / 1_000);
  });

  it('that expires while it is used is logged once a day', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockClear().mockImplementation();
    const clock = new FakeClock(new Date(Date.parse(START) + (VALID_DAYS - 15) * DAY));
    const { certificate } = configured(clock);
    await certificate.load();
    const told: number[] = [];
    for (let half = 0; half < 6; half += 1) {
      clock.advance(DAY / 2);
      await certificate.reload(() => undefined);
      told.push(warn.mock.calls.length);
    }
    expect(told).toEqual([0, 0, 0, 1, 1, 2]);
  });

  it('that is none, or is missing, is refused in words for the operator', async () => {
    const { files, certificate } = configured(new FakeClock());
    writeFileSync(files.certificateFile, 'no certificate');
    await expect(certificate.load()).rejects.toThrow(OperatorError);
    rmSync(files.certificateFile);
    await expect(certificate.load()).rejects.toThrow(/^TLS_CERT_FILE and TLS_KEY_FILE: ENOENT/);
  });
});
