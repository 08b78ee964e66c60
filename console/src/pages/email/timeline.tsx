import type { Attempt, EmailDetail, EmailEvent } from '../../api/types';
import { sentenceOf, toneOfEvent } from '../../parts/email-words';
import { Facts } from '../../parts/page';
import { Foreign, Moment, Time } from '../../parts/text';
import { OnTheWire, useAttempts, WhatWasSaid } from './attempts';

const SHOWN_APART = new Set(['recipient', 'response', 'lines', 'explanation', 'metadata']);

/** All events, the newest first; attempts with the details of their SMTP conversation. */
export function Timeline({ email }: { email: EmailDetail }) {
  const attemptOf = useAttempts(email);
  return (
    <ol className="timeline">
      {email.events.toReversed().map((event) => (
        <li key={event.id} className={toneOfEvent(event)}>
          <OneEvent event={event} attempt={attemptOf(event)} />
        </li>
      ))}
    </ol>
  );
}

function OneEvent({ event, attempt }: { event: EmailEvent; attempt: Attempt | undefined }) {
  const { recipient } = event.eventData;
  return (
    <>
      <div className="row between">
        <strong>{sentenceOf(event)}</strong>
        <span className="soft hint">
          <Time at={event.timestamp} />
        </span>
      </div>
      {typeof recipient === 'string' && (
        <div className="hint break">
          <Foreign>{recipient}</Foreign>
        </div>
      )}
      <WhatWasSaid event={event} attempt={attempt} />
      {attempt && <OnTheWire attempt={attempt} />}
      <EventFacts event={event} />
    </>
  );
}

function EventFacts({ event }: { event: EmailEvent }) {
  const facts = Object.entries(event.eventData).filter(([name, value]) => !SHOWN_APART.has(name) && value !== null);
  return (
    <details>
      <summary>Event details</summary>
      <Facts
        facts={[
          ['event', <code key="event">{event.eventType}</code>],
          ['source', event.source],
          ...facts.map(
            ([name, value]) =>
              [
                name,
                <Foreign key={name}>{typeof value === 'string' ? value : JSON.stringify(value)}</Foreign>,
              ] as const,
          ),
          ['at', <Moment key="at" at={event.timestamp} />],
        ]}
      />
    </details>
  );
}
