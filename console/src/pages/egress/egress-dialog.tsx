import { del, patch } from '../../api/client';
import type { EgressPool } from '../../api/types';
import { useChange } from '../../parts/change';
import { Confirm } from '../../parts/dialog';

export type Address = EgressPool['addresses'][number];

export type AskedEgress =
  | { readonly what: 'skip' | 'restart'; readonly address: Address }
  | { readonly what: 'release'; readonly address: Address; readonly destination: string };

const pathOf = ({ address }: Address): string => `/operator/v1/egress/${encodeURIComponent(address)}`;

/** Asks the user before the use of an address is changed by hand. */
export function EgressDialog({ asked, onClose }: { asked: AskedEgress; onClose: () => void }) {
  const change = useChange();
  const { address } = asked;
  const act = (work: Promise<unknown>, said: string) => change(work, { refresh: ['egress'], said });
  if (asked.what === 'release') {
    const { destination } = asked;
    return (
      <Confirm
        title={`Send from ${address.address} to ${destination} again?`}
        action="Send again"
        onClose={onClose}
        onConfirm={() =>
          act(
            del(`${pathOf(address)}/suspensions/${encodeURIComponent(destination)}`),
            `${address.address} sends to ${destination} again`,
          )
        }
      >
        <p>Do this once the address has been delisted: another refusal suspends it again.</p>
      </Confirm>
    );
  }
  const isSkip = asked.what === 'skip';
  return (
    <Confirm
      title={`${isSkip ? 'Skip' : 'Restart'} the warm-up of ${address.address}?`}
      action={isSkip ? 'Skip the warm-up' : 'Restart the warm-up'}
      onClose={onClose}
      onConfirm={() =>
        act(
          patch(pathOf(address), { warmUp: asked.what }),
          isSkip ? `${address.address} no longer has a daily volume` : `${address.address} starts again with day 1`,
        )
      }
    >
      <p>
        {isSkip
          ? 'Its daily volume is lifted. Use this for addresses that receivers already know: they defer or refuse large volumes from unknown ones.'
          : 'It may send a small volume on the first day, and more each following day.'}{' '}
        Every worker applies this within 5 seconds. You can undo it.
      </p>
    </Confirm>
  );
}
