import { useState } from 'react';
import { patch } from '../../api/client';
import type { Destination } from '../../api/types';
import { useChange } from '../../parts/change';
import { FormDialog, type Said } from '../../parts/dialog';
import { bound, TextField } from '../../parts/field';
import { count, momentIn } from '../../parts/format';
import { MomentField } from '../../parts/moment-field';
import { Waiting } from './open-mail';

interface Props {
  readonly destination: Destination;
  readonly onClose: () => void;
}

function useDestinationChange({ key }: Destination) {
  const change = useChange();
  return (body: object, said: string) =>
    change(patch(`/operator/v1/destinations/${encodeURIComponent(key)}`, body), {
      refresh: ['destination', 'destinations', 'queue'],
      said,
    });
}

/** Reason and end, which every change of a destination needs. */
function useTerms() {
  const [reason, setReason] = useState('');
  const [until, setUntil] = useState('');
  const end = momentIn(until);
  const fields = (said: Said, hasEnd: boolean) => (
    <>
      {hasEnd && (
        <MomentField
          label="Until"
          value={until}
          onChange={setUntil}
          error={said('until')}
          hint="Leave empty to keep it until you remove it."
        />
      )}
      <TextField
        label="Reason"
        required
        maxLength={500}
        {...bound(reason, setReason, said('reason'))}
        hint="Shown as the cause and kept in the audit log."
      />
    </>
  );
  return { terms: { reason: reason.trim(), ...(end !== undefined && { until: end }) }, fields };
}

export function PauseDialog({ destination, onClose }: Props) {
  const change = useDestinationChange(destination);
  const { terms, fields } = useTerms();
  return (
    <FormDialog
      title={`Pause ${destination.key}?`}
      action="Pause"
      isDangerous
      onClose={onClose}
      onSubmit={() => change({ paused: true, ...terms }, `${destination.key} no longer receives mail`)}
    >
      {(said) => (
        <>
          <p>
            Within 5 seconds, workers stop starting deliveries to it. Waiting mail fails four days after it was due. You
            can resume it at any time.
          </p>
          <Waiting destination={destination} />
          {fields(said, true)}
        </>
      )}
    </FormDialog>
  );
}

export function ResumeDialog({ destination, onClose }: Props) {
  const change = useDestinationChange(destination);
  const { terms, fields } = useTerms();
  return (
    <FormDialog
      title={`Resume ${destination.key}?`}
      action="Resume"
      onClose={onClose}
      onSubmit={() => change({ paused: false, ...terms }, `${destination.key} receives mail again`)}
    >
      {(said) => (
        <>
          <p>
            This also ends a pause that the workers have set. If the destination refuses mail again, the next pause is
            longer.
          </p>
          <Waiting destination={destination} />
          {fields(said, false)}
        </>
      )}
    </FormDialog>
  );
}

/** The operator's own limit, as its rule names it. What is in force may come from a reply or a profile. */
function ownLimit({ rules }: Destination, effect: string): number | undefined {
  const own = rules.find((rule) => rule.source === 'operator' && rule.effect.endsWith(` ${effect}`));
  return own && Number.parseInt(own.effect, 10);
}

/** A number, or null to take the limit away; undefined leaves it as it is. */
function limitOf(text: string, known: number | undefined): number | null | undefined {
  if (text === String(known ?? '')) return undefined;
  return text === '' ? null : Number(text);
}

export function LimitDialog({ destination, onClose }: Props) {
  const { key, maxConnections, ratePerMinute } = destination;
  const change = useDestinationChange(destination);
  const { terms, fields } = useTerms();
  const [own] = useState(() => ({
    connections: ownLimit(destination, 'max connections'),
    rate: ownLimit(destination, 'messages a minute'),
  }));
  const [connections, setConnections] = useState(String(own.connections ?? ''));
  const [rate, setRate] = useState(String(own.rate ?? ''));
  const wanted = { maxConnections: limitOf(connections, own.connections), ratePerMinute: limitOf(rate, own.rate) };
  const inForce = (limit: number | undefined) => (limit === undefined ? '' : ` In force now: ${count(limit)}.`);
  return (
    <FormDialog
      title={`Limit ${key}`}
      action="Limit"
      disabled={wanted.maxConnections === undefined && wanted.ratePerMinute === undefined}
      onClose={onClose}
      onSubmit={() => change({ ...wanted, ...terms }, `The limits of ${key} apply within 5 seconds`)}
    >
      {(said) => (
        <>
          <TextField
            label="Connections at a time"
            type="number"
            min={1}
            max={10_000}
            {...bound(connections, setConnections, said('maxConnections'))}
            hint={`For all workers together. Leave empty for no limit of your own.${inForce(maxConnections)}`}
          />
          <TextField
            label="Mails a minute"
            type="number"
            min={1}
            max={1_000_000}
            {...bound(rate, setRate, said('ratePerMinute'))}
            hint={`For all workers together. Leave empty for no limit of your own.${inForce(ratePerMinute)}`}
          />
          {fields(said, true)}
        </>
      )}
    </FormDialog>
  );
}
