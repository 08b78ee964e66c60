import type { DnsRecord, Domain } from '../../api/types';
import { Copied } from '../../parts/button';
import { words } from '../../parts/format';
import { type Column, Table } from '../../parts/list';
import { Card } from '../../parts/page';
import { Badge, Foreign } from '../../parts/text';
import { hostInZone } from './host-in-zone';

const PURPOSES: Readonly<Record<string, string>> = {
  verification: 'Proves that the domain is yours. You can send once it is found.',
  dkim: 'Lets receivers check our signature. Without it, mail is likely to be treated as spam.',
  spf: 'Allows our servers to send for the domain.',
  dmarc: 'Tells receivers what to do with mail that fails both checks.',
  return_path: 'Bounces return to your own domain.',
  tracking: 'Links for opens and clicks use your own domain (optional).',
  inbound: 'Mail to your inbound routes comes here; sending does without it.',
};
/** Mail is sent without them. */
const OPTIONAL = new Set(['tracking', 'inbound']);
const ABBREVIATIONS = new Set(['spf', 'dkim', 'dmarc']);

function columnsFor(domain: Domain): readonly Column<DnsRecord>[] {
  return [
    {
      name: 'For',
      look: 'wide top',
      cell: ({ purpose }) => (
        <>
          <strong>{ABBREVIATIONS.has(purpose) ? purpose.toUpperCase() : words(purpose)}</strong>
          <span className="hint"> {PURPOSES[purpose]}</span>
        </>
      ),
    },
    { name: 'Type', look: 'top', cell: ({ type }) => <code>{type}</code> },
    {
      name: 'Name',
      look: 'top',
      cell: ({ host, purpose }) => (
        <>
          <Copied text={host} what={`the name of the ${purpose} record`} />
          <span className="hint">
            short: <code>{hostInZone(host, domain)}</code>
          </span>
        </>
      ),
    },
    {
      name: 'Value',
      look: 'wide top',
      cell: ({ value, purpose, priority }) => (
        <>
          <Copied text={value} what={`the value of the ${purpose} record`} />
          {priority !== null && (
            <span className="hint">
              priority: <code>{priority}</code>
            </span>
          )}
        </>
      ),
    },
    { name: 'In DNS', look: 'wide top', cell: (record) => <Found record={record} /> },
  ];
}

/** The value in DNS beside the required one, and the problem. */
function Found({ record: { verified, purpose, problem, found = [] } }: { record: DnsRecord }) {
  if (verified && problem === undefined) return <Badge status="found" tone="good" />;
  const isOther = found.length > 0;
  return (
    <>
      <Badge
        status="missing"
        tone={isOther ? 'bad' : OPTIONAL.has(purpose) ? 'neutral' : 'warn'}
        label={verified ? 'Found before' : isOther ? 'Another' : 'Not found'}
      />
      {problem !== undefined && <p className="hint break">{problem}.</p>}
      {found.map((value) => (
        <code key={value} className="found break">
          {value}
        </code>
      ))}
    </>
  );
}

/** The records to publish, and which of them DNS returns. */
export function Records({ domain, records }: { domain: Domain; records: readonly DnsRecord[] }) {
  return (
    <Card title="DNS records" flush>
      <div className="card-body">
        <p className="hint">
          Publish them where the DNS of <Foreign>{domain.domain}</Foreign> is kept.
        </p>
        <details>
          <summary>How DNS providers expect them</summary>
          <ul className="hint bullets">
            <li>Cloudflare: the whole name or the short one; switch the proxy off for CNAME records.</li>
            <li>GoDaddy, Namecheap, IONOS, Hetzner: the short name, as they append the zone's name themselves.</li>
            <li>Route 53: the whole name, and values of TXT records in quotation marks.</li>
            <li>Google Cloud DNS: the whole name with a dot at its end.</li>
          </ul>
        </details>
      </div>
      <Table
        caption="DNS records to publish"
        columns={columnsFor(domain)}
        rows={records}
        keyOf={({ host, value }) => `${host} ${value}`}
      />
    </Card>
  );
}
