import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { Attempt, Data } from '../../api/types';
import { words } from '../../parts/format';
import { Card, Facts } from '../../parts/page';
import { Empty, Loaded } from '../../parts/states';
import { Badge, Moment, Time } from '../../parts/text';
import { toneOf } from '../../parts/tones';

/** What happened on the wire: each conversation with a server, the newest first. */
export function Attempts({ id, live }: { id: string; live: boolean }) {
  const query = useQuery({
    queryKey: ['attempts', id],
    queryFn: () => get<Data<Attempt[]>>(`/v1/emails/${encodeURIComponent(id)}/attempts`),
    refetchInterval: live ? 5_000 : false,
  });
  return (
    <Card title="Attempts">
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="destinations" title="No server has been spoken to yet" />
          ) : (
            <ol className="timeline">
              {data.map((attempt) => (
                <li
                  key={`${attempt.recipient} ${attempt.attempt} ${attempt.startedAt}`}
                  className={toneOf(attempt.outcome)}
                >
                  <OneAttempt attempt={attempt} />
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </Card>
  );
}

function OneAttempt({ attempt }: { attempt: Attempt }) {
  const { recipient, route, tls, reply, rule, reason, durationMs, startedAt, nextAttemptAt } = attempt;
  return (
    <>
      <div className="row between">
        <strong>
          Attempt {attempt.attempt} <Badge status={attempt.outcome} />
        </strong>
        <span className="soft hint">
          <Time at={startedAt} />, {durationMs} ms
        </span>
      </div>
      <p className="hint break">
        <bdi>{recipient}</bdi>
        {route && (
          <>
            {' '}
            at <bdi>{route.mxHost}</bdi> ({route.address}:{route.port})
          </>
        )}
        {tls ? `, ${tls.version}${tls.verified ? ', certificate verified' : ''}` : route && ', not encrypted'}
      </p>
      {reply && (
        <p className="reply">
          {[`${reply.code}${reply.enhancedCode ? ` ${reply.enhancedCode}` : ''}`, ...reply.lines].join('\n')}
        </p>
      )}
      {nextAttemptAt && (
        <p className="hint">
          Next attempt <Time at={nextAttemptAt} />
        </p>
      )}
      <details>
        <summary>Times, rule and encryption</summary>
        <Facts
          facts={[
            ['Began', <Moment key="at" at={startedAt} />],
            ['Cause', reason],
            ['Rule', rule && `${rule.id}: ${words(rule.class)}, so ${words(rule.action).toLowerCase()}`],
            ['Cipher', tls?.cipher],
            ['Policy', tls?.policy],
            ['From', route?.source && `${route.source}${route.pool ? ` (${route.pool})` : ''}`],
            ...Object.entries(attempt.phasesMs ?? {}).map(([phase, ms]) => [words(phase), `${ms} ms`] as const),
          ]}
        />
      </details>
    </>
  );
}
