import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, Domain, Reputation } from '../../api/types';
import { count, NOTHING, shareOf, words } from '../../parts/format';
import { Card, Figures } from '../../parts/page';
import { Loaded } from '../../parts/states';
import { useDomainStats, usePeriod } from '../../parts/stats';

/** How receivers are likely to see the domain, and what would better it. */
export function ReputationCard({ id }: { id: string }) {
  const may = useMay();
  const query = useQuery({
    queryKey: ['reputation', id],
    queryFn: () => get<Data<Reputation>>('/v1/stats/reputation', { domain_id: id }),
    enabled: may('stats:read'),
  });
  if (!may('stats:read')) return null;
  return (
    <Card title="Reputation over the last 30 days">
      <Loaded query={query} figures={4}>
        {({ data: { metrics, recommendations } }) => (
          <div className="stack">
            <Figures figures={figuresOf(metrics)} />
            {recommendations.length > 0 && (
              <ul className="stack">
                {recommendations.map((sentence) => (
                  <li key={sentence} className="notice">
                    <div>{sentence}</div>
                  </li>
                ))}
              </ul>
            )}
          </div>
        )}
      </Loaded>
    </Card>
  );
}

/** Of a domain whose mail has had no outcome nothing can be said, though its score is the full one. */
function figuresOf({ overallScore, healthStatus, deliveryRate, bounceRate, complaintRate }: Reputation['metrics']) {
  const seen = deliveryRate + bounceRate + complaintRate;
  const score = { value: count(overallScore), note: words(healthStatus) };
  return [
    { name: 'Score', ...(seen === 0 ? { value: NOTHING, note: 'no outcome yet' } : score) },
    { name: 'Delivered', value: shareOf(deliveryRate, seen) },
    { name: 'Bounced', value: shareOf(bounceRate, seen), note: 'below 2 %' },
    { name: 'Complaints', value: shareOf(complaintRate, seen), note: 'below 0.05 %' },
  ];
}

/** As many hours as a score is of. */
const SCORED_HOURS = 720;

/** The scores of a list: of a domain without an outcome there is none, as far as the key shows outcomes. */
export function useScores(): (domain: Domain) => string {
  const stats = useDomainStats(usePeriod(SCORED_HOURS), useMay()('stats:read'));
  const seen = stats.data && new Set(stats.data.data.domains.filter(hasOutcome).map(({ domain }) => domain));
  return ({ domain, reputation_score }) => (seen?.has(domain) === false ? NOTHING : count(reputation_score));
}

const hasOutcome = ({ delivered, bounced }: { delivered: number; bounced: number }) => delivered + bounced > 0;
