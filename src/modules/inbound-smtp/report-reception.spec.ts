import type { SMTPServerSession } from 'smtp-server';
import type { InboundReportsService, ReportSender } from '../inbound-reports/queue/inbound-reports.service';
import { InboundLimits } from './inbound-limits';
import type { InboundMetrics } from './inbound.metrics';
import { ReportReception } from './report-reception';

const settled = () => new Promise(setImmediate);

it('ReportReception leaves the database to others, however many reports come, and owners of networks take turns', async () => {
  const waiting: { readonly network: string; readonly settle: (result: 'new') => void }[] = [];
  const reports = {
    appendFeedback: (_mailbox: string, { network }: ReportSender) =>
      new Promise((settle) => void waiting.push({ network, settle })),
  } as unknown as InboundReportsService;
  const metrics = { countFeedback: () => undefined } as unknown as InboundMetrics;
  const reception = new ReportReception(reports, new InboundLimits(), metrics);
  const append = (remoteAddress: string) =>
    reception.take(Buffer.from('x'), [{ mailbox: 'abuse' }], { remoteAddress, envelope: {} } as SMTPServerSession);
  const flood = Array.from({ length: 150 }, (_each, at) => append(`192.0.2.${at}`));
  const others = [1, 2, 3].map((at) => append(`198.51.10${at}.1`));
  await settled();
  expect(waiting.map(({ network }) => network)).toEqual(['192.0.2.0', '198.51.101.1', '198.51.102.1']);
  for (let at = 0; at < 153; at += 1) {
    waiting[at]?.settle('new');
    await settled();
  }
  expect(waiting[3]?.network).toBe('198.51.103.1');
  expect(await Promise.all([...flood, ...others])).toHaveLength(153);
});
