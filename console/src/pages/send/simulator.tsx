import { useSession } from '../../api/session';
import { Button } from '../../parts/button';

/** The simulator's outcome for each address (README.md). */
const SIMULATOR: readonly (readonly [local: string, what: string])[] = [
  ['delivered', 'Delivered'],
  ['bounced', 'Bounces'],
  ['soft-bounced', 'Deferred twice, then delivered'],
  ['complained', 'Reported as spam'],
  ['opened', 'Opened'],
  ['clicked', 'Clicked'],
  ['suppressed', 'Suppressed'],
];

/** The simulator's addresses, each with the outcome of a mail to it. */
export function Simulator({ to, choose }: { to: string; choose: (address: string) => void }) {
  const { simulatorDomain } = useSession().service;
  return (
    <fieldset>
      <legend>Simulate</legend>
      <div className="row">
        {SIMULATOR.map(([local, what]) => (
          <Button
            key={local}
            small
            aria-pressed={to === `${local}@${simulatorDomain}`}
            onClick={() => choose(`${local}@${simulatorDomain}`)}
          >
            {what}
          </Button>
        ))}
      </div>
    </fieldset>
  );
}
