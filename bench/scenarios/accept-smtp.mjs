import { emailBody } from '../harness/mail.mjs';
import { peakMemoryOf } from '../harness/usage.mjs';

const CONNECTIONS = 50;
const BODIES = 1_000;

/**
 * One message per transaction over SMTP, compared with the same mail as JSON over HTTP. What counts are messages per CPU second: the
 * CPU seconds per 1,000 of `product` beside those of `http`, each with its Postgres.
 */
export async function prepare(bench) {
  const api = await bench.startProduct('api');
  const submission = await bench.startProduct('submission', { SUBMISSION_PORT: '0', SUBMISSIONS_PORT: '0' });
  const http = await bench.startHelper('http-load');
  const smtp = await bench.startHelper('smtp-load');
  const { key } = bench.tenant;
  const mails = Array.from({ length: BODIES }, (_, index) => emailBody(index));
  const bodies = mails.map((mail) => JSON.stringify(mail));
  const messages = mails.map((mail) => ({ to: mail.to[0], content: toMessage(mail) }));
  const postgres = { tree: bench.postgresPid };
  return {
    name: `accept-smtp (${CONNECTIONS} sessions)`,
    unit: 'messages',
    contenders: [
      {
        name: 'http',
        run: (seconds) =>
          http.call('run', { port: api.port, path: '/v1/emails', key, bodies, connections: CONNECTIONS, seconds }),
        processes: { api: api.pid, postgres, load: http.pid },
      },
      {
        name: 'product',
        run: (seconds) =>
          smtp.call('run', { port: submission.submissionPort, key, messages, connections: CONNECTIONS, seconds }),
        processes: { submission: submission.pid, postgres, load: smtp.pid },
      },
    ],
    targets: { http: 0.6 },
    memory: () => ({ api: peakMemoryOf(api.pid), submission: peakMemoryOf(submission.pid) }),
    finish: () => Promise.all([api, submission, http, smtp].map((process) => process.stop())),
  };
}

/** As a mail library writes it. */
function toMessage({ from, to, subject, text, html }) {
  return [
    ...[`From: ${from}`, `To: ${to[0]}`, `Subject: ${subject}`, 'MIME-Version: 1.0', 'X-Waybill-Tags: order'],
    ...['Content-Type: multipart/alternative; boundary="=_bench"', '', '--=_bench'],
    ...['Content-Type: text/plain; charset=utf-8', '', text, '--=_bench'],
    ...['Content-Type: text/html; charset=utf-8', '', html, '--=_bench--'],
  ]
    .join('\n')
    .replaceAll('\n', '\r\n');
}
