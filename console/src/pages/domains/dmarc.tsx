import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { Data, Dmarc as DmarcFigures, DmarcSource } from '../../api/types';
import { count, plural, shareOf } from '../../parts/format';
import { type Column, Table } from '../../parts/list';
import { Card, Figures } from '../../parts/page';
import { Empty, Loaded } from '../../parts/states';
import { Badge } from '../../parts/text';

const DAYS = 30;
/** Sources with the most failures come first; the rest is of little interest. */
const SHOWN = 20;

const COLUMNS: readonly Column<DmarcSource>[] = [
  { name: 'Source', look: 'break', cell: ({ sourceIp }) => <code>{sourceIp}</code> },
  { name: 'Messages', look: 'number', cell: ({ messages }) => count(messages) },
  {
    name: 'Result',
    isBare: true,
    cell: ({ failed }) =>
      failed === 0 ? (
        <Badge status="passes" tone="good" />
      ) : (
        <Badge status="fails" tone="bad" label={`${count(failed)} fail`} />
      ),
  },
  { name: 'By DKIM', look: 'number', cell: ({ dkimAligned }) => count(dkimAligned) },
  { name: 'By SPF', look: 'number', cell: ({ spfAligned }) => count(spfAligned) },
  { name: 'Refused', look: 'number', cell: ({ refused }) => count(refused) },
];

/** Servers that send in the domain's name, by receivers' reports, and whether the policy can be raised. */
export function Dmarc({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['dmarc', id],
    queryFn: () => get<Data<DmarcFigures>>(`/v1/domains/${encodeURIComponent(id)}/dmarc`, { days: DAYS }),
  });
  return (
    <Card title={`Who sends as this domain: DMARC reports of ${DAYS} days`} flush>
      <Loaded query={query}>
        {({ data }) =>
          data.reports === 0 ? (
            <Empty icon="domains" title="No reports yet">
              Large receivers send a report once a day, starting the day after you publish the DMARC record above.
            </Empty>
          ) : (
            <Report figures={data} />
          )
        }
      </Loaded>
    </Card>
  );
}

function Report({ figures }: { figures: DmarcFigures }) {
  const { messages, passed, failed, reports, reporters, policy, sources, recommendation } = figures;
  const share = (part: number) => shareOf(part / messages, messages);
  const rest = sources.length - SHOWN;
  return (
    <>
      <div className="card-body stack">
        <Figures
          figures={[
            { name: 'Messages', value: count(messages), note: `of ${plural(reports, 'report')}` },
            { name: 'Pass', value: count(passed), note: share(passed) },
            { name: 'Fail', value: count(failed), note: share(failed) },
            { name: 'Receivers', value: count(reporters), note: policy && `policy p=${policy}` },
          ]}
        />
        <div className={recommendation.code.startsWith('raise') ? 'notice good' : 'notice'}>
          <div>
            <strong>What to do</strong>
            <p>{recommendation.message}.</p>
          </div>
        </div>
      </div>
      <Table
        caption="Servers that send as the domain, most failures first"
        columns={COLUMNS}
        rows={sources.slice(0, SHOWN)}
        keyOf={({ sourceIp }) => sourceIp}
      />
      {rest > 0 && <p className="card-body hint">And {plural(rest, 'more source')}.</p>}
    </>
  );
}
