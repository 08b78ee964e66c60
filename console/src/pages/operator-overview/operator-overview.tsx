import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { Data, OperatorOverview } from '../../api/types';
import { ButtonLink } from '../../parts/button';
import { count, plural, span } from '../../parts/format';
import { Card, Figures, Page } from '../../parts/page';
import { Loaded, Requires } from '../../parts/states';

const LIVE_MS = 3_000;
/** An oldest ready delivery of this age means that the workers do not keep up. */
const LATE_SECONDS = 300;

export default function OperatorOverviewScreen() {
  return (
    <Requires scope="operator:read">
      <OverviewPage />
    </Requires>
  );
}

function OverviewPage() {
  const query = useQuery({
    queryKey: ['operator-overview'],
    queryFn: () => get<Data<OperatorOverview>>('/operator/v1/overview'),
    refetchInterval: LIVE_MS,
  });
  return (
    <Page title="The installation" lead="Is mail flowing, and what is in its way?">
      <Loaded query={query}>{({ data }) => <Glance overview={data} />}</Loaded>
    </Page>
  );
}

function Glance({ overview }: { overview: OperatorOverview }) {
  const { queue, rates, workers, organizations, restrictedDomains, pausedDestinations } = overview;
  return (
    <>
      <Concerns overview={overview} />
      <Card title="The queue" actions={<ButtonLink to="/queue">Look into it</ButtonLink>}>
        <Figures
          figures={[
            {
              name: 'Ready',
              value: count(queue.ready),
              note: queue.ready > 0 ? `the oldest for ${span(queue.oldestReadySeconds)}` : 'nothing waits',
            },
            { name: 'Waiting', value: count(queue.waiting), note: 'for later' },
            { name: 'Being sent', value: count(queue.claimed) },
            { name: 'Held', value: count(queue.held), note: 'by an operator' },
          ]}
        />
      </Card>
      <Card title="Per minute, over the last five minutes">
        <Figures
          figures={[
            { name: 'Accepted', value: rate(rates.acceptedPerMinute) },
            { name: 'Delivered', value: rate(rates.deliveredPerMinute) },
            { name: 'Deferred', value: rate(rates.deferredPerMinute) },
            { name: 'Bounced', value: rate(rates.bouncedPerMinute) },
          ]}
        />
      </Card>
      <Figures
        figures={[
          { name: 'Workers', value: count(workers) },
          { name: 'Organizations', value: count(organizations) },
          { name: 'Restricted domains', value: count(restrictedDomains) },
          { name: 'Paused destinations', value: count(pausedDestinations) },
        ]}
      />
    </>
  );
}

const rate = (perMinute: number): string => (Number.isInteger(perMinute) ? count(perMinute) : perMinute.toFixed(1));

function Concerns({
  overview: { queue, workers, restrictedDomains, pausedDestinations },
}: {
  overview: OperatorOverview;
}) {
  const late = queue.ready > 0 && queue.oldestReadySeconds > LATE_SECONDS;
  return (
    <>
      {workers === 0 && (
        <div className="notice bad">
          <div>
            <strong>No worker is running: nothing is sent.</strong>
            <p>Start a process with the role worker.</p>
          </div>
        </div>
      )}
      {late && workers > 0 && (
        <div className="notice warn">
          <div>
            <strong>Ready mail waits for {span(queue.oldestReadySeconds)}.</strong>
            <p>See whose it is, and whether most of it goes to one destination.</p>
          </div>
          <ButtonLink to="/queue?by=destination">By destination</ButtonLink>
        </div>
      )}
      {queue.held > 0 && (
        <div className="notice warn">
          <div>
            <strong>{plural(queue.held, 'delivery is', 'deliveries are')} held.</strong>
            <p>They keep ageing: after four days they fail.</p>
          </div>
          <ButtonLink to="/queue?state=held">See them</ButtonLink>
        </div>
      )}
      {pausedDestinations > 0 && (
        <div className="notice warn">
          <div>
            <strong>{plural(pausedDestinations, 'destination gets', 'destinations get')} no mail for now.</strong>
            <p>Each shows why, and until when.</p>
          </div>
          <ButtonLink to="/destinations?state=paused">See them</ButtonLink>
        </div>
      )}
      {restrictedDomains > 0 && (
        <div className="notice">
          <div>
            <strong>{plural(restrictedDomains, 'domain is', 'domains are')} slowed or paused.</strong>
            <p>Each shows its organization, why, and since when.</p>
          </div>
          <ButtonLink to="/restricted-domains">See them</ButtonLink>
        </div>
      )}
    </>
  );
}
