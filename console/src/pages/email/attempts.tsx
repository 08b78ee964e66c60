import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { Attempt, Data, EmailDetail, EmailEvent } from '../../api/types';
import { endedWhere, saidOf } from '../../parts/email-words';
import { visible, words } from '../../parts/format';
import { Facts } from '../../parts/page';
import { Foreign, Moment, Time, useNow } from '../../parts/text';

const SECOND_MS = 1_000;

/** Events that end an attempt; a hand-over that became a delivery is shown with the delivery. */
const ENDINGS: ReadonlySet<string> = new Set(['sent', 'delivered', 'deferred', 'unknown', 'bounced', 'failed']);

const keyOf = (recipient: unknown, attempt: unknown, outcome: string): string =>
  JSON.stringify([recipient, attempt, outcome]);

/** The attempt that an event is the end of, if it is one. */
export function useAttempts(email: EmailDetail): (event: EmailEvent) => Attempt | undefined {
  const { data } = useQuery({
    // Attempts are events: there is no new one without another event.
    queryKey: ['attempts', email.id, email.events.length],
    queryFn: () => get<Data<Attempt[]>>(`/v1/emails/${email.id}/attempts`),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  });
  const attempts = new Map(
    data?.data.map((attempt) => [keyOf(attempt.recipient, attempt.attempt, attempt.outcome), attempt]),
  );
  return ({ eventType, eventData: { recipient, attempt } }) =>
    ENDINGS.has(eventType) ? attempts.get(keyOf(recipient, attempt, eventType)) : undefined;
}

/** Why it ended so: in words, by the server's reply, or by what happened instead of one. */
export function WhatWasSaid({ event, attempt }: { event: EmailEvent; attempt: Attempt | undefined }) {
  const { explanation, reply, failure } = saidOf(event, attempt);
  return (
    <>
      {explanation !== undefined && (
        <p className="break">
          <Foreign>{explanation}</Foreign>
        </p>
      )}
      {failure !== undefined && (
        <p className="break">
          {attempt?.route && 'No reply: '}
          <Foreign>{failure}</Foreign>
        </p>
      )}
      {reply !== undefined && <Reply text={reply} />}
    </>
  );
}

/** A longer reply would push what comes after it out of sight: twenty lines of 500 characters. */
const LONG_REPLY = 600;

function Reply({ text }: { text: string }) {
  if (text.length <= LONG_REPLY) return <p className="reply">{visible(text)}</p>;
  // A character that is stored as two is not halved.
  const beginning = text.slice(0, LONG_REPLY).replace(/[\uD800-\uDBFF]$/, '');
  return (
    <>
      <p className="reply">{visible(beginning)}…</p>
      <details>
        <summary>The whole reply</summary>
        <p className="reply">{visible(text)}</p>
      </details>
    </>
  );
}

/** An attempt in detail: where it ended, the server, the encryption, and the next step. */
export function OnTheWire({ attempt }: { attempt: Attempt }) {
  const { attempt: number, route, tls, durationMs, nextAttemptAt } = attempt;
  return (
    <>
      <p className="hint break">
        Attempt {number}, {durationMs} ms
        {route && (
          <>
            , at <Foreign>{route.mxHost}</Foreign> ({route.address}:{route.port})
          </>
        )}
        {tls ? `, ${tls.version}${tls.verified ? ', certificate verified' : ''}` : route && ', not encrypted'}.{' '}
        {endedWhere(attempt)}
      </p>
      {nextAttemptAt && <NextAttempt at={nextAttemptAt} />}
      <details>
        <summary>Times, rule and encryption</summary>
        <WireFacts attempt={attempt} />
      </details>
    </>
  );
}

/** Nothing once its time has come: the attempt itself is shown then, or why the recipient still waits. */
function NextAttempt({ at }: { at: string }) {
  if (useNow(SECOND_MS) >= new Date(at).getTime()) return null;
  return (
    <p className="hint">
      Next attempt <Time at={at} />
    </p>
  );
}

function WireFacts({ attempt }: { attempt: Attempt }) {
  const { startedAt, reason, rule, tls, tlsFailure, policy, route, phasesMs = {} } = attempt;
  return (
    <Facts
      facts={[
        ['Began', <Moment key="at" at={startedAt} />],
        ['Cause', reason],
        ['Rule', rule && `${rule.id}: ${words(rule.class)}, so ${words(rule.action).toLowerCase()}`],
        ['Cipher', tls?.cipher],
        ['Policy', tls?.policy ?? policy],
        ['STARTTLS', tlsFailure && <Foreign>{tlsFailure}</Foreign>],
        ['From', route?.source && `${route.source}${route.pool ? ` (${route.pool})` : ''}`],
        ...Object.entries(phasesMs).map(([phase, ms]) => [words(phase), `${ms} ms`] as const),
      ]}
    />
  );
}
